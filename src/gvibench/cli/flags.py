"""Flags made from the fields of the specs, so that there is one list of settings.

Values stay text here. The specs check them, because their messages say more than argparse does.
"""

import argparse
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

from gvibench.errors import UserError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from gvibench.spec.run import ProblemSpec

__all__ = [
    "add_data_flags",
    "add_spec_flags",
    "data_values",
    "spec_of",
    "validate_flags_beside_spec",
]

Problem = TypeVar("Problem", bound="ProblemSpec")

GROUPS: dict[str, tuple[str, ...]] = {
    "problem": ("model", "beta", "gamma", "sigma"),
    "expectations": ("expectation", "pieces", "piece_degree", "nodes", "batch", "samples"),
    "solver": ("solver", "solver_options", "form", "step", "step_decay"),
    "start": ("init_scale", "mean_scale", "seed"),
    "budget": ("iterations", "seconds", "tolerance"),
    "recording": ("record_every", "record", "snapshots"),
    "machine": ("threads", "device", "dtype"),
}
"""Settings by the heading they have in `--help`; any other is under "further settings"."""
OTHERS = "further settings"

PAIRS = {"options": "--data-option", "solver_options": "--solver-option"}
"""Fields that are mappings; their flags may be repeated."""
SPECIAL_DEFAULTS = {
    "beta": "the data set's own, as listed by 'gvibench datasets'",
    "step": "the paper's step for this data set; required if it has none",
    "split": "the data set's own, else sklearn",
    "scaling": "the data set's own, else none",
    "train_size": "the data set's own, else all rows that do not test",
    "test_size": "0.2 of the rows if they are drawn and train_size is not set",
}
METAVARS = {"path": "FILE", "test_path": "FILE", "dataset": "NAME", "solver": "NAME"}


def add_data_flags(parser: argparse.ArgumentParser, *, explained: bool) -> None:
    """Add the flags that define a data set; with `explained`, with their help."""
    from gvibench.spec.run import DataSpec

    texts = _help_texts(DataSpec, explained)
    _add_group(parser.add_argument_group("data"), DataSpec, texts, "data.")


def add_spec_flags(
    parser: argparse.ArgumentParser, kind: "type[ProblemSpec]", *, explained: bool
) -> None:
    """Add the flags that define a problem or a run; with `explained`, with their help."""
    add_data_flags(parser, explained=explained)
    texts = _help_texts(kind, explained)
    fields = [name for name in kind.model_fields if name != "data"]  # --data names a file
    grouped = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in fields if name not in grouped)
    for title, names in {**GROUPS, OTHERS: others}.items():
        if chosen := [name for name in names if name in fields]:
            of_group = {name: texts[name] for name in chosen}
            _add_group(parser.add_argument_group(title), kind, of_group, "")


def _add_group(
    group: "argparse._ArgumentGroup", kind: "type[BaseModel]", texts: Mapping[str, str], prefix: str
) -> None:
    for name, text in texts.items():
        if name in PAIRS:
            group.add_argument(PAIRS[name], action="append", metavar="NAME=VALUE", help=text)
            continue
        field = kind.model_fields[name]
        flag, place = _flag(name), f"{prefix}{name}"
        if field.annotation is bool:
            group.add_argument(flag, dest=place, action="store_const", const=True, help=text)
        elif get_origin(field.annotation) is tuple:
            group.add_argument(flag, dest=place, nargs="+", metavar="NAME", help=text)
        else:
            group.add_argument(flag, dest=place, metavar=_metavar(name, field), help=text)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _help_texts(kind: "type[BaseModel]", explained: bool) -> dict[str, str]:
    """Return the help for every field; reading it from the sources takes time, so on demand."""
    if not explained:
        return dict.fromkeys(kind.model_fields, "")
    from gvibench.spec.run import documentation

    return {
        name: _help_text(name, text.rstrip("."), kind.model_fields[name]).replace("%", "%%")
        for name, text in documentation(kind).items()
    }


def _help_text(name: str, text: str, field: "FieldInfo") -> str:
    if name in PAIRS:
        return f"{text} (may be repeated)"
    if words := _listed(name, field):
        text = f"{text}: {', '.join(words)}"
    return f"{text} ({_default(name, field)})"


def _listed(name: str, field: "FieldInfo") -> list[str]:
    """Return accepted words that are too many for the name of a value."""
    from gvibench import solvers
    from gvibench.datasets import catalogue

    if name in {"dataset", "solver"}:
        return catalogue.names() if name == "dataset" else solvers.names()
    return _choices(field.annotation) if get_origin(field.annotation) is tuple else []


def _default(name: str, field: "FieldInfo") -> str:
    if name in SPECIAL_DEFAULTS:
        return f"default: {SPECIAL_DEFAULTS[name]}"
    if field.is_required():
        return "required"
    value = field.default
    if value is None or value == ():
        return "default: none"
    return f"default: {str(value).lower() if isinstance(value, bool) else value}"


def _metavar(name: str, field: "FieldInfo") -> str:
    """Return the accepted words, or what kind of value is expected."""
    if name in METAVARS:
        return METAVARS[name]
    kinds, words = _types(field.annotation), _choices(field.annotation)
    numbers = ["N"] * (int in kinds) + ["X"] * (float in kinds)
    expected = [*numbers, *words]
    if len(expected) > 1:
        return f"{{{','.join(expected)}}}"
    return expected[0] if expected else "TEXT"


def _choices(annotation: Any) -> list[str]:
    if get_origin(annotation) is Literal:
        return [str(word) for word in get_args(annotation)]
    return [word for part in get_args(annotation) for word in _choices(part)]


def _types(annotation: Any) -> set[Any]:
    """Return the types that a field accepts, without their constraints."""
    if get_origin(annotation) in {Union, UnionType}:
        return {kind for part in get_args(annotation) for kind in _types(part)}
    if hasattr(annotation, "__metadata__"):
        return _types(get_args(annotation)[0])
    return {annotation}


# From flags to specs


def data_values(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the flags say about the data."""
    from gvibench.spec.run import DataSpec

    given = vars(options)
    values = {
        name: given[f"data.{name}"]
        for name in DataSpec.model_fields
        if given.get(f"data.{name}") is not None
    }
    if options.data_option:
        values["options"] = _pairs(options.data_option, "--data-option")
    return values


def spec_of(options: argparse.Namespace, kind: type[Problem]) -> Problem:
    """Return the spec that `--spec` or the flags define, completed by the data set's preset."""
    from gvibench.datasets.catalogue import complete
    from gvibench.spec.run import parse
    from gvibench.study.defaults import complete_spec

    if options.spec is not None:
        validate_flags_beside_spec(options, kind)
        spec = parse(kind, options.spec, "--spec")
        return spec.model_copy(update={"data": complete(spec.data, spec.model)})
    given = vars(options)
    fields = [name for name in kind.model_fields if name != "data"]  # --data names a file
    values = {name: given[name] for name in fields if given.get(name) is not None}
    if "solver" in kind.model_fields:
        values["solver_options"] = _pairs(options.solver_option, "--solver-option")
    return complete_spec(kind, data_values(options), values, "command line", from_text=True)


def validate_flags_beside_spec(options: argparse.Namespace, kind: "type[BaseModel]") -> None:
    """Refuse settings given as flags beside a `--spec` of this kind, which holds them all."""
    settings = {*kind.model_fields, "solver_option", "data_option"} - {"data"}
    for name, value in sorted(vars(options).items()):
        if value is not None and (name in settings or name.startswith("data.")):
            flag = _flag(name.removeprefix("data."))
            raise UserError(f"--spec holds all settings: leave out {flag}, or --spec")


def _pairs(given: Sequence[str] | None, flag: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"{flag} takes NAME=VALUE, got '{text}'")
        pairs[name] = _number_or_text(value)
    return pairs


def _number_or_text(text: str) -> bool | int | float | str:
    if text in {"true", "false"}:
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
