"""Derive command-line flags from the fields of the specs, so that settings are listed once.

Values stay text here. The specs validate them, because their messages are clearer than the
messages of argparse.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

from gvibench.errors import UserError
from gvibench.registry import DATASETS, MODELS, SOLVERS

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from gvibench.spec.run import ProblemSpec
    from gvibench.spec.specs import Spec

__all__ = [
    "add_data_flags",
    "add_spec_flags",
    "data_values",
    "spec_of",
    "validate_flags_beside_spec",
]

Problem = TypeVar("Problem", bound="ProblemSpec")

GROUPS: dict[str, tuple[str, ...]] = {
    "problem": ("model", "beta", "prior", "gamma", "sigma"),
    "expectations": (
        *("expectation", "pieces", "piece_degree", "nodes"),
        *("batch", "samples", "minibatches", "estimator"),
    ),
    "solver": ("solver", "solver_options", "form", "step", "step_rule", "step_options"),
    "start": ("init_scale", "mean_scale", "seed"),
    "budget": ("iterations", "seconds", "tolerance"),
    "recording": ("record_every", "test_every", "record", "snapshots"),
    "machine": ("threads", "device", "dtype"),
}
"""Settings by their heading in `--help`. All others are listed under "further settings"."""
OTHERS = "further settings"

PAIRS = {
    "options": "--data-option",
    "solver_options": "--solver-option",
    "step_options": "--step-option",
}
"""Flags of the fields that hold mappings. These flags may be repeated."""
SPECIAL_DEFAULTS = {
    "beta": "the data set's own, as listed by 'gvibench datasets'",
    "step": "auto, a search for each step",
    "split": "the data set's own, else sklearn",
    "scale": "the data set's own, else none; standardize for your own files",
    "intercept": "the data set's own, else false; true for your own files",
    "target": "the last column",
    "positive": "the larger label",
    "train_size": "the data set's own, else all rows that are not test rows",
    "test_size": "0.2 of the rows if the split is random and train_size is not set",
}
LISTED = {"dataset": DATASETS, "model": MODELS, "solver": SOLVERS}
"""Registries whose names are listed in `--help`."""
METAVARS = {
    **dict.fromkeys(("path", "test_path"), "FILE"),
    **dict.fromkeys(("dataset", "model", "solver", "step_rule"), "NAME"),
    "step": "{X,RULE}",
    "split": "{X,sklearn,random,first,given,none}",
    **dict.fromkeys(("target", "offset"), "COLUMN"),
    "positive": "LABEL",
    "prior": "JSON",
}


def add_data_flags(parser: argparse.ArgumentParser, *, with_help: bool) -> None:
    """Add the flags that define a data set, with help texts if `with_help` is true."""
    from gvibench.spec.run import DataSpec

    texts = _help_texts(DataSpec, with_help)
    _add_group(parser.add_argument_group("data"), DataSpec, texts, "data.")


def add_spec_flags(
    parser: argparse.ArgumentParser, kind: "type[ProblemSpec]", *, with_help: bool
) -> None:
    """Add the flags that define a problem or a run, with help texts if `with_help` is true."""
    add_data_flags(parser, with_help=with_help)
    texts = _help_texts(kind, with_help)
    fields = [name for name in kind.names() if name != "data"]  # --data names a file
    grouped = {name for names in GROUPS.values() for name in names}
    others = tuple(name for name in fields if name not in grouped)
    for title, names in {**GROUPS, OTHERS: others}.items():
        if group_texts := {name: texts[name] for name in names if name in fields}:
            _add_group(parser.add_argument_group(title), kind, group_texts, "")


def _add_group(
    group: "argparse._ArgumentGroup", kind: "type[Spec]", texts: Mapping[str, str], prefix: str
) -> None:
    from gvibench.spec.validate import model_of

    for name, text in texts.items():
        if name in PAIRS:
            group.add_argument(PAIRS[name], action="append", metavar="NAME=VALUE", help=text)
            continue
        field = model_of(kind).model_fields[name]
        flag, place = _flag(name), f"{prefix}{name}"
        if field.annotation is bool:
            group.add_argument(flag, dest=place, action="store_const", const=True, help=text)
            opposite = f"--no-{flag.removeprefix('--')}"
            advice = text and f"the opposite (default: see {flag.removeprefix('--')})"
            group.add_argument(opposite, dest=place, action="store_const", const=False, help=advice)
        elif get_origin(field.annotation) is tuple:
            group.add_argument(flag, dest=place, nargs="+", metavar="NAME", help=text)
        else:
            group.add_argument(flag, dest=place, metavar=_metavar(name, field), help=text)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _help_texts(kind: "type[Spec]", with_help: bool) -> dict[str, str]:
    """Return the help text of each field. Reading them from the sources takes time."""
    if not with_help:
        return dict.fromkeys(kind.names(), "")
    from gvibench.spec.documentation import documentation
    from gvibench.spec.validate import model_of

    fields = model_of(kind).model_fields
    return {
        name: _help_text(name, text.rstrip("."), fields[name]).replace("%", "%%")
        for name, text in documentation(kind).items()
    }


def _help_text(name: str, text: str, field: "FieldInfo") -> str:
    if name in PAIRS:
        return f"{text} (may be repeated)"
    if words := _listed(name, field):
        text = f"{text}: {', '.join(words)}"
    return f"{text} ({_default(name, field)})"


def _listed(name: str, field: "FieldInfo") -> list[str]:
    """Return the accepted words if there are too many of them for the metavar."""
    if name in LISTED:
        return LISTED[name].names()
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
    """Return the accepted words or the expected kind of value."""
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
    """Return the types that a field accepts, without constraints."""
    if get_origin(annotation) in {Union, UnionType}:
        return {kind for part in get_args(annotation) for kind in _types(part)}
    if hasattr(annotation, "__metadata__"):
        return _types(get_args(annotation)[0])
    return {annotation}


# From flags to specs


def data_values(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the data set that were given as flags."""
    from gvibench.spec.run import DataSpec

    given = vars(options)
    values = {
        name: given[f"data.{name}"]
        for name in DataSpec.names()
        if given.get(f"data.{name}") is not None
    }
    if options.data_option:
        values["options"] = _pairs(options.data_option, "--data-option")
    return values


def spec_of(options: argparse.Namespace, kind: type[Problem]) -> Problem:
    """Return the spec given by `--spec` or by flags, completed with the data set's preset."""
    from gvibench.spec.validate import parse
    from gvibench.study.defaults import complete_data, complete_spec, validate_solver

    if options.spec is not None:
        validate_flags_beside_spec(options, kind)
        spec = parse(kind, options.spec, "--spec")
        data = complete_data(json.loads(options.spec)["data"], spec.model)
        return validate_solver(spec.replace(data=data))
    given = vars(options)
    fields = [name for name in kind.names() if name != "data"]  # --data names a file
    values = {name: given[name] for name in fields if given.get(name) is not None}
    if "prior" in values:
        values["prior"] = _mapping(values["prior"], "--prior")
    if "solver" in kind.names():
        values["solver_options"] = _pairs(options.solver_option, "--solver-option")
        values["step_options"] = _pairs(options.step_option, "--step-option")
    return complete_spec(kind, data_values(options), values, "command line", from_text=True)


def validate_flags_beside_spec(options: argparse.Namespace, kind: "type[Spec]") -> None:
    """Raise an error if settings are given as flags in addition to `--spec`."""
    settings = {*kind.names(), "solver_option", "step_option", "data_option"} - {"data"}
    for name, value in sorted(vars(options).items()):
        if value is not None and (name in settings or name.startswith("data.")):
            flag = _flag(name.removeprefix("data."))
            raise UserError(f"--spec contains all settings: leave out {flag}, or --spec")


def _mapping(text: str, flag: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise UserError(f'{flag} takes JSON such as {{"precision": {{"x1": 2.0}}}}, got \'{text}\'')
    return values


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
