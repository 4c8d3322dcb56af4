"""Complete specs with the defaults of the data set and the default step rule."""

import contextlib
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, TypeVar

from gvibench.errors import UserError, suggest
from gvibench.registry import DATASETS, MODELS, SOLVERS, STEP_RULES
from gvibench.spec.catalogue import Setting, find, target_kind
from gvibench.spec.compatibility import validate_limitation, validate_model
from gvibench.spec.fields import Option
from gvibench.spec.run import DataSpec, ProblemSpec, RunSpec
from gvibench.spec.validate import parse
from gvibench.study.config import SolverSettings
from gvibench.study.step_settings import read_steps, validate_step

__all__ = ["complete_data", "complete_problem", "complete_spec", "validate_solver"]

Problem = TypeVar("Problem", bound=ProblemSpec)
DEFAULT_TEST_SIZE = 0.2
OF_COLUMNS = ("target", "positive", "drop", "categorical", "offset")
"""Fields about the columns of the user's own files."""


def complete_spec(
    kind: type[Problem],
    data: Mapping[str, Any],
    values: Mapping[str, Any],
    where: str,
    *,
    from_text: bool = False,
) -> Problem:
    """Validate a spec and fill in the defaults of its data set.

    Parameters
    ----------
    kind
        RunSpec or ProblemSpec.
    data
        Fields of the DataSpec that the user has set.
    values
        Other fields that the user has set.
    where
        Source of the values, for messages.
    from_text
        Whether values are words of a command line, such as "5e-3" for a number.
    """
    spec = complete_data(data, values.get("model"), from_text=from_text)
    return complete_problem(
        kind, spec, {"beta": find(spec).beta, **values}, where, from_text=from_text
    )


def complete_problem(
    kind: type[Problem],
    spec: DataSpec,
    values: Mapping[str, Any],
    where: str,
    *,
    from_text: bool = False,
) -> Problem:
    """Validate a spec on complete data, and fill in the defaults of its solver and step rule."""
    completed: dict[str, Any] = {"data": spec, **values}
    if "solver" in values:
        values = {**SOLVERS.load(str(values["solver"])).defaults, **values}
        completed = {**completed, **values}
        completed |= _steps(spec, values, where, from_text=from_text)
    return validate_solver(parse(kind, completed, where, from_text=from_text))


def _steps(
    data: DataSpec, values: Mapping[str, Any], where: str, *, from_text: bool
) -> dict[str, Any]:
    """Return the fields that `step` stands for. Its values are those of a config."""
    step: Any = values.get("step")
    rule, options = values.get("step_rule"), values.get("step_options") or {}
    if from_text and isinstance(step, str):
        with contextlib.suppress(ValueError):
            step = float(step)
    if isinstance(step, str) and step in STEP_RULES.names():
        rule, step = step, None
    if rule or options:
        step = {"rule": rule or ("auto" if step is None else "constant"), "step": step, **options}
    named = parse(SolverSettings, {"step": step}, where).step
    expectation = str(values.get("expectation", RunSpec.expectation))
    steps = read_steps(named, str(values["solver"]), expectation, data)
    if steps.tuned or len(steps.sizes) > 1:
        raise UserError(f"{where}: 'step' of a single run should be one number or a step rule")
    return steps.fields(steps.sizes[0])


def validate_solver(spec: Problem) -> Problem:
    """Return the spec unchanged; raise UserError if its model, solver or step rule is invalid."""
    validate_model(spec)
    if isinstance(spec, RunSpec):
        options = f"options of solver '{spec.solver}'"
        parse(SOLVERS.load(spec.solver), spec.solver_options, options)
        validate_step(spec)
        validate_limitation(spec)
    return spec


def complete_data(
    values: Mapping[str, Any], model: str | None = None, *, from_text: bool = False
) -> DataSpec:
    """Validate a data spec and fill in the defaults of its data set.

    The model decides about the targets of data sets that offer several kinds in an option
    `targets`.
    """
    given = {name: value for name, value in values.items() if value is not None}
    given |= _split_share(given, from_text=from_text)
    if "dataset" not in given and isinstance(given.get("path"), str):
        given["dataset"] = _name_of_file(given["path"])
    spec = parse(DataSpec, given, "data", from_text=from_text)
    entry = find(spec)
    split = spec.split if "split" in given else entry.split
    train_size, test_size = spec.train_size, spec.test_size
    is_drawn = split in {"sklearn", "random"}
    if train_size is None and test_size is None and (is_drawn or split == entry.split):
        train_size = entry.train_size
    if is_drawn and train_size is None and test_size is None:
        test_size = DEFAULT_TEST_SIZE
    options = dict(spec.options)
    if "targets" in entry.settings:
        wanted = MODELS.load(model or RunSpec.model).targets[0]
        if wanted in entry.settings["targets"].choices:  # if not, the plan rejects the model
            options.setdefault("targets", wanted)
    spec = spec.replace(
        split=split,
        scale=spec.scale if "scale" in given else entry.scale,
        intercept=spec.intercept if "intercept" in given else entry.intercept,
        train_size=train_size,
        test_size=test_size,
        options=_complete_options(spec.dataset, options, entry.settings),
    )
    _validate_split(spec, entry.has_test)
    _validate_columns(spec)
    return spec


def _split_share(given: Mapping[str, Any], *, from_text: bool) -> dict[str, Any]:
    """Return the fields that a number as `split` stands for: the share of the test rows."""
    share: Any = given.get("split")
    if from_text and isinstance(share, str):
        with contextlib.suppress(ValueError):
            share = float(share)
    if isinstance(share, bool) or not isinstance(share, int | float):
        return {}
    if not 0 < share < 1:
        raise UserError(
            f"data: 'split' should be a name or a fraction between 0 and 1, not {share:g}"
        )
    for size in ("train_size", "test_size"):
        if size in given:
            raise UserError(f"data: 'split' is already the fraction {share:g}: remove '{size}'")
    return {"split": "sklearn", "test_size": float(share)}


def _validate_columns(spec: DataSpec) -> None:
    """Raise UserError for settings of columns that contradict each other or have no effect."""
    where = f"data set '{spec.dataset}'"
    given = [name for name in OF_COLUMNS if getattr(spec, name)]
    if given and spec.path is None:
        raise UserError(f"{where}: '{given[0]}' is for your own files: set 'path', or remove it")
    if spec.positive is not None and target_kind(spec) != "classes":
        raise UserError(
            f"{where}: 'positive' names one of two classes, but the targets are "
            f"{target_kind(spec)}: remove it, or choose a model of two classes"
        )
    roles = {"target": spec.target, "offset": spec.offset}
    for role, column in roles.items():
        for key in ("drop", "categorical"):
            if column in getattr(spec, key):
                raise UserError(f"{where}: column '{column}' is the {role}: remove it from '{key}'")
    if spec.target is not None and spec.target == spec.offset:
        raise UserError(f"{where}: column '{spec.target}' is both 'target' and 'offset'")
    if both := set(spec.drop) & set(spec.categorical):
        raise UserError(f"{where}: column '{min(both)}' is in both 'drop' and 'categorical'")


def _name_of_file(path: str) -> str:
    """Return a name for the data in a file: its name, without characters that names cannot have."""
    file = PurePath(path)
    name = file.name if file.stem in DATASETS.names() else file.stem
    return re.sub(r"^[^A-Za-z0-9]+", "", re.sub(r"[^A-Za-z0-9_.+-]+", "-", name)) or "data"


def _complete_options(
    dataset: str, options: Mapping[str, Option], settings: Mapping[str, Setting]
) -> dict[str, Option]:
    for name in options:
        if name not in settings:
            known = f"it has {', '.join(settings)}" if settings else "it has none"
            raise UserError(
                f"data set '{dataset}': unknown option '{name}'{suggest(name, settings)}; {known}"
            )
    completed: dict[str, Option] = {}
    for name, setting in settings.items():
        try:
            completed[name] = setting.accept(options.get(name, setting.default))
        except ValueError as error:
            raise UserError(f"data set '{dataset}': option '{name}' {error}") from error
    if "positive" in completed and completed["positive"] == completed.get("negative"):
        raise UserError(
            f"data set '{dataset}': options 'positive' and 'negative' are both "
            f"{completed['positive']!r}; choose two different classes"
        )
    return completed


def _validate_split(spec: DataSpec, has_test: bool) -> None:
    name, split = spec.dataset, spec.split
    if split == "given" and not has_test:
        raise UserError(
            f"data set '{name}' has no test file of its own: "
            f"use split 'sklearn', 'random' or 'first'"
        )
    if split != "given" and spec.test_path is not None:
        raise UserError(
            f"data set '{name}': 'test_path' is only for split 'given', not for '{split}'"
        )
    if split == "none" and (spec.train_size is not None or spec.test_size is not None):
        raise UserError(
            f"data set '{name}': split 'none' uses all rows: remove train_size and test_size"
        )
    if split == "first" and spec.train_size is None:
        raise UserError(
            f"data set '{name}': split 'first' needs 'train_size', the number of rows that train"
        )
