"""List the runs of one solver on one data set, seeds apart, with labels for paths.

Labels contain numbers as Python prints them, so that each number has one label.
"""

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gvibench.errors import UserError, suggest
from gvibench.registry import MODELS, SOLVERS
from gvibench.spec.canonical import hash_values
from gvibench.spec.catalogue import find, target_kind
from gvibench.spec.compatibility import (
    is_reduced,
    validate_limitation,
    validate_model,
    validate_prior,
    validate_targets,
)
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.spec.validate import parse
from gvibench.study.config import DatasetSettings, Settings, SolverSettings, Start, Study
from gvibench.study.data_shape import column_names, shape_of, training_rows, validate_data
from gvibench.study.defaults import complete_data
from gvibench.study.plan import solver_title
from gvibench.study.resources import sizes
from gvibench.study.step_settings import PLACEHOLDER, TUNED, Steps, read_steps

__all__ = ["Variant", "validate_titles", "validate_variation", "variants"]

MAX_PRIOR = 40
"""Maximum length of a prior in a label. A longer one, e.g. a matrix, is replaced by its hash."""
OF_DATA = "data."
"""Prefix of the fields of a data set in `vary`."""


@dataclass(frozen=True)
class Variant:
    """Runs that differ in their seed only."""

    label: str
    spec: RunSpec
    tuned: bool
    beta_tuned: bool
    shared_label: str
    """Label without the named start. Empty if the study has none."""


@contextlib.contextmanager
def _located(where: str) -> Iterator[None]:
    """Prefix error messages with their location in the config."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def _solver_id(study: Study, dataset: str, solver: str) -> str:
    """Return the id of the solver that runs under a label on a data set."""
    nearest = study.datasets[dataset].solvers.get(solver, SolverSettings())
    return nearest.solver or study.solvers[solver].solver or solver


def variants(study: Study, dataset: str, solver: str, where: str) -> Iterator[Variant]:
    """Yield the distinct variants of a solver on a data set."""
    seen = set()
    combinations = itertools.product(_changes(study, where), study.starts or [""])
    for changes, start in combinations:
        for variant in _changed(study, dataset, solver, changes, start, where):
            key = (variant.spec.canonical(), variant.tuned, variant.beta_tuned)
            if key not in seen:
                seen.add(key)
                yield variant


def validate_titles(study: Study, dataset: str, where: str) -> None:
    """Raise UserError if two solvers would have the same name in figures and tables."""
    labels: dict[str, str] = {}
    for label in study.solvers:
        title = solver_title(label, _solver_id(study, dataset, label))
        other = labels.setdefault(title.casefold(), label)
        if other != label:
            raise UserError(
                f"{where}.solvers: '{other}' and '{label}' would both appear as '{title}' on "
                f"'{dataset}': give them different names"
            )


def validate_variation(study: Study, specs: list[RunSpec], where: str) -> None:
    """Raise UserError if no run of the study uses a key of `vary`."""
    for key in study.vary:
        if specs and all(key in spec.unused_fields() for spec in specs):
            field, value = RunSpec.USED_WITH[key]
            raise UserError(
                f"{where}: vary.{key} has no effect: no run of the study uses {field} '{value}'"
            )


def _changes(study: Study, where: str) -> Iterator[dict[str, Any]]:
    known = [*RunSpec.names(), *(OF_DATA + field for field in DataSpec.names())]
    for key in study.vary:
        if key not in known:
            raise UserError(f"{where}: vary: unknown field '{key}'{suggest(key, known)}")
        if key in {"data", "solver", "seed", "step", "init_scale"}:
            raise UserError(f"{where}: vary: set '{key}' directly in the study")
        if key == "mean_scale" and study.starts:
            raise UserError(f"{where}: vary: 'mean_scale' is set by 'starts'")
        if key in {"step_rule", "step_options"}:
            raise UserError(f"{where}: vary: set 'step' of a solver instead of '{key}'")
        if key == "beta" and TUNED in {
            study.beta,
            *(settings.beta for settings in study.datasets.values()),
        }:
            raise UserError(f"{where}: vary.beta: beta is 'tuned', so it cannot be varied as well")
    for values in itertools.product(*study.vary.values()):
        yield dict(zip(study.vary, values, strict=True))


def _changed(
    study: Study, dataset: str, solver: str, changes: Mapping[str, Any], start: str, where: str
) -> Iterator[Variant]:
    """Yield the variants of one start and one combination of `vary`.

    Both override all other settings. An empty `start` stands for a study without named starts.
    """
    of_dataset, of_solver = study.datasets[dataset], study.solvers[solver]
    nearest = of_dataset.solvers.get(solver, SolverSettings())
    solver_id = _solver_id(study, dataset, solver)
    with _located(where):
        kind = SOLVERS.load(solver_id)
    values = {**kind.defaults, **_merge([study, of_dataset, of_solver, nearest])}
    values |= {key: value for key, value in changes.items() if not key.startswith(OF_DATA)}
    options = {**of_solver.options, **nearest.options, **_mapping(values, "solver_options", where)}
    with _located(where):
        values["data"] = data = _data_spec(of_dataset, dataset, changes, values.get("model"))
        validate_data(data)
        configured = parse(kind, options, f"options of solver '{solver_id}'")
        values["solver_options"] = dataclasses.asdict(configured)
    values["solver"] = solver_id
    given, scales = values.pop("step", None), values.pop("init_scale", 1.0)
    if not kind.has_step:  # a setting for all solvers does not apply
        given = nearest.step if nearest.step is not None else of_solver.step
    with _located(where):
        expectation = values.get("expectation", RunSpec.expectation)
        steps = read_steps(given, solver_id, expectation, data)
    beta_tuned = values.setdefault("beta", find(data).beta) == TUNED
    if start:
        values["mean_scale"], scales = _start(
            study.starts[start], values, f"{where}, start {start}"
        )
    elif steps.tuned:
        scales = PLACEHOLDER
    sizes = [PLACEHOLDER] if steps.tuned else steps.sizes
    pairs = itertools.product(sizes, scales if isinstance(scales, list) else [scales])
    if beta_tuned:
        values["beta"] = PLACEHOLDER
        _validate_tuned_beta(values.get("prior"), where)
    for step, scale in pairs:
        spec = parse(RunSpec, {**values, **steps.fields(step), "init_scale": scale}, where)
        with _located(where):
            _validate_combination(spec, beta_tuned)
        shown = {key: value for key, value in changes.items() if key not in spec.unused_fields()}
        if len(str(shown.get("prior"))) > MAX_PRIOR:
            shown["prior"] = hash_values(shown["prior"])[:8]
        others = [f"{key}-{_label(value)}" for key, value in shown.items()]
        parts = _first_parts(steps, spec)
        first = [*parts, *([] if steps.tuned else [f"scale-{_label(spec.init_scale)}"])]
        label = "_".join([*first, *([f"start-{start}"] if start else []), *others])
        shared = "_".join([*parts, "starts", *others]) if start else ""
        yield Variant(label, spec.without_unused(), steps.tuned, beta_tuned, shared)


def _first_parts(steps: Steps, spec: RunSpec) -> list[str]:
    """Return the first parts of a label: step rule and step size."""
    if steps.tuned:
        return list(filter(None, [TUNED, _label(steps.label)]))
    size = f"step-{_label(spec.step)}" if steps.shows_size else ""
    return list(filter(None, [_label(steps.label), size]))


def _start(start: Start, values: Mapping[str, Any], where: str) -> tuple[float, float]:
    """Return the scales of the initial mean and of the initial factor of a named start."""
    scale = start.init_scale
    if scale == "prior":
        beta = values["beta"]
        if values.get("prior") is not None or beta in (TUNED, 0):
            raise UserError(
                f"{where}: init_scale 'prior' needs a prior N(0, I / beta) with beta above 0: set "
                "a number"
            )
        # An invalid beta is reported with the other fields of the run.
        valid = isinstance(beta, int | float) and beta > 0
        scale = beta**-0.5 if valid else PLACEHOLDER
    return start.mean_scale, scale


def _validate_combination(spec: RunSpec, beta_tuned: bool) -> None:
    """Raise UserError for settings that are valid by themselves but cannot be combined."""
    validate_limitation(spec)
    solver = SOLVERS.load(spec.solver)(**spec.solver_options)
    rows, columns = sizes(spec.data)
    is_reduced(spec, solver, training_rows(spec.data) or rows, columns)
    validate_model(spec)
    validate_prior(spec, shape_of(spec.data).columns, column_names(spec.data))
    validate_targets(spec, [target_kind(spec.data)])
    if beta_tuned and not MODELS.load(spec.model).convex:
        raise UserError(
            f"beta 'tuned' compares optima, and model '{spec.model}' has several: set beta to a "
            "number"
        )


def _validate_tuned_beta(prior: Any, where: str) -> None:
    """Raise UserError if the prior replaces the tuned beta of all features."""
    precision = dict(prior or {}).get("precision")
    if isinstance(precision, int | float | list):
        raise UserError(
            f"{where}: beta is 'tuned', but prior.precision sets the precision of all features: "
            "set one of them"
        )


def _merge(layers: list[Settings]) -> dict[str, Any]:
    """Return the run settings of all layers. Later layers override earlier ones."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for field in Settings.model_fields:
            value = getattr(layer, field)
            if value is not None:
                merged[field] = value
    return merged


def _data_spec(
    settings: DatasetSettings, name: str, changes: Mapping[str, Any], model: Any
) -> DataSpec:
    """Return the data spec of a run. Changes by `vary` override the data set's settings."""
    given: dict[str, Any] = {"dataset": settings.dataset or name, "options": settings.options}
    for field in DataSpec.names():
        if field not in given:
            given[field] = getattr(settings, field)
    changed = {key.removeprefix(OF_DATA): changes[key] for key in changes if OF_DATA in key}
    options = given["options"] | _mapping(changed, "options", "vary")
    given |= {**changed, "options": options}
    return complete_data({key: value for key, value in given.items() if value != {}}, model)


def _mapping(values: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    mapping = values.get(key, {})
    if not isinstance(mapping, dict):
        raise UserError(f"{where}: '{key}' should be a mapping, got {mapping!r}")
    return mapping


def _label(value: Any) -> str:
    text = repr(value) if isinstance(value, float) else str(value)
    return "".join(c if c.isalnum() or c in ".+-" else "-" for c in text)
