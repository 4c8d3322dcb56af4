"""Types of the fields of a spec, with the values they accept.

The constraints are plain objects, so that a run does not import Pydantic. Where input enters,
`gvibench.spec.validate` hands them to Pydantic through `__get_pydantic_core_schema__`.
"""

from dataclasses import dataclass
from typing import Annotated, Any

__all__ = [
    "LARGEST",
    "SMALLEST",
    "Computable",
    "Condition",
    "Count",
    "Label",
    "Name",
    "NonNegative",
    "Option",
    "Positive",
    "Range",
    "Seed",
    "Size",
]

SMALLEST, LARGEST = 1e-100, 1e100
"""Range of numbers whose squares neither overflow nor vanish."""


@dataclass(frozen=True)
class Range:
    """Bounds of a number."""

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        bounds = {name: bound for name, bound in vars(self).items() if bound is not None}
        return {**handler(source), **bounds}


class Computable:
    """A finite number whose square neither overflows nor vanishes."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        finite = {**handler(source), "allow_inf_nan": False}
        return core_schema.no_info_after_validator_function(_check_computable, finite)


class Identifier:
    """A name that can be part of a path and of a command line."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", "max_length": 80}


class PlainText:
    """Text. A number stands for its text, because YAML reads `positive: 1` as a number."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        given: list[Any] = [core_schema.str_schema(), core_schema.float_schema()]
        return core_schema.no_info_before_validator_function(
            _as_text, handler(source), json_schema_input_schema=core_schema.union_schema(given)
        )


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError('is true or false in YAML: write it in quotes, e.g. "yes"')
    return f"{value:g}" if isinstance(value, int | float) else value


def _check_computable(value: float) -> float:
    if value != 0 and not SMALLEST <= abs(value) <= LARGEST:
        raise ValueError("should lie between 1e-100 and 1e+100")
    return value


Positive = Annotated[float, Range(gt=0), Computable()]
NonNegative = Annotated[float, Range(ge=0), Computable()]
Condition = Annotated[float, Range(ge=1, le=1e8), Computable()]
Seed = Annotated[int, Range(ge=0, lt=2**63)]
Count = Annotated[int, Range(ge=1, le=10**9)]
Size = Count | Annotated[float, Range(gt=0, lt=1)]
Label = Annotated[str, PlainText()]
Option = bool | int | float | str
Name = Annotated[str, Identifier()]
