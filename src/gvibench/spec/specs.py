"""Base class of specs: plain data with canonical JSON and a hash."""

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from gvibench.spec.canonical import canonical_json, hash_text
from gvibench.spec.fields import Condition, NonNegative, Positive

__all__ = ["Spec"]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Base class of specs."""

    def __post_init__(self) -> None:
        # 1 and 1.0 are equal, so they must have the same canonical JSON.
        for name in _float_fields(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if type(value) is int:
                object.__setattr__(self, name, float(value))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of all fields."""
        return tuple(field.name for field in dataclasses.fields(cls))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the spec that `to_dict` describes; its values have been validated before."""
        missing, unknown = set(cls.names()) - set(values), set(values) - set(cls.names())
        if missing or unknown:
            raise ValueError(f"wrong fields in a spec: {', '.join(sorted(missing | unknown))}")
        return cls(**values)

    def check(self) -> None:
        """Raise ValueError if two fields contradict each other."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, ready for JSON."""
        return {name: _plain(getattr(self, name)) for name in self.names()}

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def canonical(self) -> str:
        """Return the spec as JSON with sorted keys, no spaces and all fields."""
        return canonical_json(self.to_dict())

    @property
    def spec_hash(self) -> str:
        """Hash that identifies this spec, 16 hexadecimal digits."""
        return hash_text(self.canonical())


@functools.cache
def _float_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a spec that hold floating-point numbers."""
    return tuple(
        field.name
        for field in dataclasses.fields(kind)
        if field.type in {Condition, Positive, NonNegative, Positive | None, NonNegative | None}
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Spec):
        return value.to_dict()
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value
