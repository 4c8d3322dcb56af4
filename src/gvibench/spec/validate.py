"""Validate input from users: configs, command lines, notebooks and files.

Specs and solvers are plain dataclasses. `model_of` derives a Pydantic model from each, and `parse`
turns the first error into one sentence. Jobs read what the plan has validated without this module.
"""

import dataclasses
import functools
import operator
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Strict,
    ValidationError,
    create_model,
    model_validator,
)

from gvibench.errors import UserError, suggest
from gvibench.spec.run import DataSpec
from gvibench.spec.specs import Spec

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["StrictModel", "explain", "kind_of", "model_of", "parse"]

Kind = TypeVar("Kind")
_KINDS: dict[type[BaseModel], Any] = {}
Location = tuple[int | str, ...]
"""Keys that lead to a value in a nested mapping."""

MAX_SHOWN_CHARACTERS = 100
"""Maximum number of characters of a wrong value that a message repeats."""


class StrictModel(BaseModel):
    """Immutable model that rejects unknown keys and does not convert types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def model_of(kind: type) -> type[BaseModel]:
    """Return the Pydantic model of a dataclass, with the same fields and constraints."""
    return kind if issubclass(kind, BaseModel) else _derived_model(kind)  # type: ignore[arg-type]


@functools.cache
def _derived_model(kind: Any) -> type[BaseModel]:
    hints = typing.get_type_hints(kind, include_extras=True)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        fields[field.name] = (_annotation(hints[field.name]), _default(field))
    checks = {"check": model_validator(mode="after")(_check_with(kind))}
    model = create_model(
        kind.__name__,
        __base__=StrictModel,
        __doc__=kind.__doc__,
        __validators__=checks if issubclass(kind, Spec) else {},  # type: ignore[arg-type]
        **fields,
    )
    _KINDS[model] = kind
    return model


def kind_of(model: type[BaseModel]) -> type:
    """Return the dataclass that a model was derived from, or the model itself."""
    kind: type = _KINDS.get(model, model)
    return kind


def _annotation(hint: Any) -> Any:
    if _is_spec(hint):
        return model_of(hint)
    if any(map(_is_spec, typing.get_args(hint))):  # a nested spec or None
        return functools.reduce(operator.or_, map(_annotation, typing.get_args(hint)))
    # YAML and JSON have lists where a spec has tuples.
    return Annotated[hint, Strict(False)] if typing.get_origin(hint) is tuple else hint


def _is_spec(hint: Any) -> bool:
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return ...


def _check_with(kind: Any) -> Callable[[Any], Any]:
    def check(self: BaseModel) -> BaseModel:
        kind.check(self)
        return self

    return check


def parse(
    kind: type[Kind],
    source: str | Mapping[str, Any],
    where: str,
    *,
    from_text: bool = False,
    names_at: Callable[[Location], Iterable[str]] | None = None,
) -> Kind:
    """Validate JSON text or a mapping and return an object of class `kind`.

    Raise UserError with one sentence about the first error.

    Parameters
    ----------
    kind
        A Pydantic model, a spec or a solver.
    source
        JSON text, or values by field.
    where
        Source of the values, for the message.
    from_text
        Whether values of a mapping may be words of a command line, such as "5e-3" for a number.
    names_at
        Function that returns the valid keys at a location, to suggest one for an unknown key.
    """
    model = model_of(kind)
    try:
        if isinstance(source, str):
            valid = model.model_validate_json(source)
        else:
            values = {name: _input(value) for name, value in source.items()}
            valid = model.model_validate(values, strict=False if from_text else None)
    except ValidationError as error:
        known = names_at or (lambda place: [*model.model_fields, *DataSpec.names()])
        raise UserError(f"{where}: {explain(error, known)}") from error
    if isinstance(valid, kind):
        return valid
    values = {name: _output(getattr(valid, name)) for name in model.model_fields}
    return kind(**values)


def _input(value: Any) -> Any:
    if isinstance(value, Spec):
        return value.to_dict()
    return value


def _output(value: Any) -> Any:
    return _KINDS[type(value)](**dict(value)) if isinstance(value, BaseModel) else value


def explain(error: ValidationError, names_at: Callable[[Location], Iterable[str]]) -> str:
    """Return one sentence about the first error: key, value and the nearest valid name."""
    first = _most_telling(error.errors(include_url=False))
    path = _path(first)
    if first["type"] == "extra_forbidden":
        *place, name = first["loc"]
        return f"unknown key '{path}'{suggest(str(name), names_at(tuple(place)))}"
    if first["type"] == "missing":
        return f"'{path}' is missing"
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if first["type"] == "string_pattern_mismatch":
        message = "should begin with a letter or digit and have only letters, digits and _ . + -"
    message = message.replace(" after validation", "")
    given = first.get("input")
    if not path:
        return message
    if isinstance(given, dict):
        return f"{message} (at {path})"
    hint = ""
    expected = first.get("ctx", {}).get("expected")
    if isinstance(given, str) and expected:
        hint = suggest(given, re.findall(r"'([^']*)'", expected))
    return f"'{path}' {message[0].lower()}{message[1:]}, got {_shown(given)}{hint}"


def _shown(value: object) -> str:
    """Return a value as text for a message, shortened if it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # e.g. an integer of 5000 digits
        return f"{type(value).__name__} too large to show"
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"


def _most_telling(errors: "list[ErrorDetails]") -> "ErrorDetails":
    """Return the first error. A union has one error per branch: return the best fitting one."""
    path = _path(errors[0])
    of_union = [error for error in errors if _path(error).startswith(path)]

    def rank(error: "ErrorDetails") -> int:
        wrong_type = error["type"].endswith(("_type", "_parsing"))
        given_text = isinstance(error.get("input"), str)
        if error["type"] in {"value_error", "extra_forbidden"}:
            return 0
        if error["type"] == "literal_error":
            return 1 if given_text else 3
        return 2 if wrong_type else 1

    return min(of_union, key=rank)


def _path(error: "ErrorDetails") -> str:
    return ".".join(str(part) for part in error["loc"] if not _is_union_branch(part))


def _is_union_branch(part: int | str) -> bool:
    # Pydantic adds the branch of the union to the path: "constrained-int", "literal['log']", ...
    branches = {"int", "float", "str", "bool", "LogGrid", "StepSettings"}
    return isinstance(part, str) and ("constrained-" in part or "[" in part or part in branches)
