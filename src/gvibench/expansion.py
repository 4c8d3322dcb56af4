"""From a config to jobs: data sets × solvers × steps × scales × seeds, with labels for paths.

Paths carry short readable labels. Numbers in them are printed as Python prints them, so that one
number has one name.
"""

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from gvibench import solvers
from gvibench.datasets.catalogue import complete, find
from gvibench.errors import UserError
from gvibench.estimate import sizes
from gvibench.jobs import BetaJob, DataJob, OptimumJob, Plan, RunJob, TuningJob, template
from gvibench.models import refuse_targets
from gvibench.presets import PAPER_STEPS
from gvibench.running import is_reduced
from gvibench.spec import DataSpec, ProblemSpec, RunSpec, canonical_json, hash_text, parse, suggest
from gvibench.study import (
    MOST_RUNS,
    Config,
    DatasetSettings,
    LogGrid,
    Settings,
    SolverSettings,
    Study,
)

__all__ = ["expand"]

TUNED = "tuned"
LONGEST_LABEL = 200
"""Of a folder's name; file systems end at 255 bytes."""
PLACEHOLDER = 1.0
"""Stands for a number that the tuning stage will choose; in a job's text it is null."""


def expand(config: Config) -> Plan:
    """Expand a config into jobs; a mistake in it is one sentence with the key's path."""
    config = _leave_out(config)
    plan = Plan(config, {}, {}, {}, {}, {})
    runs = 0
    for name, study in config.studies.items():
        for job in _expand_study(plan, name, study):
            if job.path in plan.runs:
                raise UserError(f"studies.{name}: two different runs have the path {job.path}")
            plan.runs[job.path] = job
            runs += len(job.specs)
            if runs > MOST_RUNS:
                raise UserError(f"studies.{name}: more than {MOST_RUNS} runs: vary less at a time")
    return plan


def _leave_out(config: Config) -> Config:
    """Return the config without the data sets that are not wanted."""
    named = {dataset for study in config.studies.values() for dataset in study.datasets}
    for unknown in set(config.without) - named:
        raise UserError(f"without: no study has a data set '{unknown}'{suggest(unknown, named)}")
    studies = {}
    for name, study in config.studies.items():
        kept = {key: of for key, of in study.datasets.items() if key not in config.without}
        if kept:
            studies[name] = study.model_copy(update={"datasets": kept})
    if not studies:
        raise UserError("without: leaves nothing to run")
    return config.model_copy(update={"studies": studies})


def _expand_study(plan: Plan, name: str, study: Study) -> Iterator[RunJob]:
    seeds = list(range(study.seeds)) if isinstance(study.seeds, int) else study.seeds
    for dataset, of_dataset in study.datasets.items():
        for unknown in set(of_dataset.solvers) - set(study.solvers):
            raise UserError(
                f"studies.{name}.datasets.{dataset}.solvers: '{unknown}' is not a solver of the "
                f"study{suggest(unknown, study.solvers)}"
            )
        expectations = set()
        for solver, of_solver in study.solvers.items():
            where = f"studies.{name}, {solver} on {dataset}"
            for variant in _variants(study, of_dataset, dataset, of_solver, solver, where):
                expectations.add(_recorded_with(variant.spec))
                yield from _jobs_of_variant(
                    plan, name, study, dataset, solver, variant, seeds, where
                )
        if len(expectations) > 1:
            raise UserError(
                f"studies.{name}: on '{dataset}' runs with different expectations are compared: "
                "add 'record: [objective_exact]' to the study, so that all are measured alike"
            )


def _recorded_with(spec: RunSpec) -> str:
    """Return the expectation by which the objective of a run will be compared."""
    exact = spec.expectation == "stochastic" or "objective_exact" in spec.record
    return "exact" if exact else spec.expectation


@dataclass(frozen=True)
class _Variant:
    """A run but for its seed."""

    label: str
    spec: RunSpec
    tuned: bool
    beta_tuned: bool


def _variants(
    study: Study,
    of_dataset: DatasetSettings,
    dataset: str,
    of_solver: SolverSettings,
    solver: str,
    where: str,
) -> Iterator[_Variant]:
    nearest = of_dataset.solvers.get(solver, SolverSettings())
    solver_id = nearest.solver or of_solver.solver or solver
    options = {**of_solver.options, **nearest.options}
    data = _data_spec(of_dataset, dataset, where)
    fixed = _merge([study, of_dataset, of_solver, nearest])
    steps = fixed.pop("step", None)
    scales = fixed.pop("init_scale", 1.0)
    beta = fixed.pop("beta", find(data).beta)
    fixed["beta"] = PLACEHOLDER if beta == TUNED else beta
    with _located(where):
        fixed["solver_options"] = solvers.configure(solver_id, options).model_dump()
    tuned = steps == TUNED
    pairs = (
        [(PLACEHOLDER, PLACEHOLDER)]
        if tuned
        else itertools.product(
            _steps(steps, data, solver_id, where), scales if isinstance(scales, list) else [scales]
        )
    )
    for (step, scale), changes in itertools.product(pairs, _changes(study, where)):
        values = {**fixed, "solver": solver_id, "step": step, "init_scale": scale}
        values["data"] = data
        beta_tuned = beta == TUNED and "beta" not in changes
        with _located(where):
            for key, value in changes.items():
                _set(values, key, value)
        spec = parse(RunSpec, values, where)
        with _located(where):
            _refuse_impossible(spec, beta_tuned)
        label = TUNED if tuned else f"step-{_label(step)}_scale-{_label(scale)}"
        label = "_".join([label, *(f"{key}-{_label(v)}" for key, v in changes.items())])
        if len(label) > LONGEST_LABEL:
            raise UserError(
                f"{where}: vary: the values make a folder name of {len(label)} characters, at "
                f"most {LONGEST_LABEL} fit: give each its own entry under 'datasets' or 'solvers'"
            )
        yield _Variant(label, spec, tuned, beta_tuned)


@contextlib.contextmanager
def _located(where: str) -> Iterator[None]:
    """Say of every mistake found within at which place of the config it is."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def _refuse_impossible(spec: RunSpec, beta_tuned: bool) -> None:
    """Refuse now what a job would refuse later: settings that are right but do not go together."""
    solver = solvers.configure(spec.solver, spec.solver_options)
    is_reduced(spec, solver, *sizes(spec.data))
    refuse_targets(spec, real=spec.data.options.get("target") == "regression")
    if beta_tuned and spec.model == "non-convex":
        raise UserError(
            "beta 'tuned' judges every beta at its optimum, and model 'non-convex' has no single "
            "one: give beta a number"
        )


def _merge(layers: list[Settings]) -> dict[str, Any]:
    """Return the run settings of all layers, the later ones over the earlier."""
    merged: dict[str, Any] = {}
    for layer in layers:
        for field in Settings.model_fields:
            value = getattr(layer, field)
            if value is not None:
                merged[field] = value
    return merged


def _data_spec(settings: DatasetSettings, name: str, where: str) -> DataSpec:
    given = {
        field: getattr(settings, field)
        for field in DataSpec.model_fields
        if field != "dataset" and getattr(settings, field) not in (None, {})
    }
    with _located(where):
        return complete({"dataset": settings.dataset or name, **given})


def _steps(steps: Any, data: DataSpec, solver: str, where: str) -> list[float]:
    if steps is None:
        raise UserError(
            f"{where}: 'step' is missing: give a number, a list, a grid, paper or tuned"
        )
    if steps == "paper":
        known = PAPER_STEPS.get(data.dataset, {})
        if solver not in known:
            raise UserError(
                f"{where}: the paper has no step for '{solver}' on '{data.dataset}': "
                "give a number or use step 'tuned'"
            )
        return [known[solver]]
    if isinstance(steps, LogGrid):
        return steps.values()
    return steps if isinstance(steps, list) else [steps]


def _changes(study: Study, where: str) -> Iterator[dict[str, Any]]:
    for key in study.vary:
        known = [*RunSpec.model_fields, *(f"data.{field}" for field in DataSpec.model_fields)]
        if key not in known:
            raise UserError(f"{where}: vary: unknown field '{key}'{suggest(key, known)}")
        if key in {"data", "solver", "seed", "step", "init_scale"}:
            raise UserError(f"{where}: vary: '{key}' has a place of its own in the study")
    for values in itertools.product(*study.vary.values()):
        yield dict(zip(study.vary, values, strict=True))


def _set(values: dict[str, Any], key: str, value: Any) -> None:
    if key.startswith("data."):
        chosen = values["data"].model_dump(exclude_none=True)
        values["data"] = complete({**chosen, key.removeprefix("data."): value})
    else:
        values[key] = value


def _label(value: Any) -> str:
    text = repr(value) if isinstance(value, float) else str(value)
    return "".join(c if c.isalnum() or c in ".+-" else "-" for c in text)


def _jobs_of_variant(
    plan: Plan,
    study_name: str,
    study: Study,
    dataset: str,
    solver: str,
    variant: _Variant,
    seeds: list[int],
    where: str,
) -> Iterator[RunJob]:
    root = PurePosixPath(plan.config.results)
    data_path = f"{root}/data/{dataset}-{hash_text(canonical_json(variant.spec.data))[:8]}.zarr.zip"
    data = plan.data.setdefault(data_path, DataJob(data_path, variant.spec.data))
    beta = None
    if variant.beta_tuned:
        beta = _beta(plan, study_name, study, dataset, data, variant.spec)
    problem = variant.spec.problem()
    optimum = _optimum(plan, study, dataset, data, problem, beta)
    exact_optimum = None
    if "objective_exact" in variant.spec.record:
        exact = problem.with_exact_expectations()
        exact_optimum = _optimum(plan, study, dataset, data, exact, beta)
    tuning = None
    if variant.tuned:
        folder = f"{root}/{study_name}/tuning/{dataset}/{solver}/{variant.label}"
        tuning = _tuning(folder, study, data, variant.spec, seeds, beta, where)
        plan.tuning[folder] = tuning
    base = f"{root}/{study_name}/runs/{dataset}/{solver}/{variant.label}"
    for block in _blocks(seeds, study.pack):
        packed = study.pack > 1
        name = f"seeds-{block[0] // study.pack}" if packed else f"seed-{block[0]}"
        yield RunJob(
            path=f"{base}/{name}.zarr.zip",
            study=study_name,
            dataset=dataset,
            solver=solver,
            data=data,
            specs=tuple(variant.spec.model_copy(update={"seed": seed}) for seed in block),
            packed=packed,
            exclusive=study.exclusive,
            tuning=tuning,
            beta=beta,
            optimum=optimum,
            exact_optimum=exact_optimum,
        )


def _blocks(seeds: list[int], size: int) -> list[list[int]]:
    """Cut seeds into blocks aligned by `seed // size`, so that a new seed touches one block."""
    ordered = sorted(seeds)
    return [list(block) for _, block in itertools.groupby(ordered, key=lambda seed: seed // size)]


def _beta(
    plan: Plan, name: str, study: Study, dataset: str, data: DataJob, spec: RunSpec
) -> BetaJob:
    problem, betas = spec.problem(), tuple(study.tuning.betas)
    key = hash_text(json.dumps([template(problem, {"beta"}), betas], sort_keys=True))
    path = f"{plan.config.results}/{name}/tuning/{dataset}/beta-{key[:8]}.json"
    return plan.betas.setdefault(path, BetaJob(path, data, problem, betas))


def _optimum(
    plan: Plan,
    study: Study,
    dataset: str,
    data: DataJob,
    problem: ProblemSpec,
    beta: BetaJob | None,
) -> OptimumJob | None:
    # The non-convex model has no one optimum, and without a prior there may be none.
    if study.gap != "optimum" or problem.model == "non-convex" or problem.beta == 0:
        return None
    key = problem.spec_hash if beta is None else hash_text(beta.path + problem.spec_hash)
    path = f"{plan.config.results}/optima/{dataset}-{key[:8]}.zarr.zip"
    return plan.optima.setdefault(path, OptimumJob(path, data, problem, beta))


def _tuning(
    folder: str,
    study: Study,
    data: DataJob,
    spec: RunSpec,
    seeds: list[int],
    beta: BetaJob | None,
    where: str,
) -> TuningJob:
    if both := set(study.tuning.seeds) & set(seeds):
        raise UserError(
            f"{where}: seed {min(both)} is used for tuning and for reporting: choose tuning.seeds "
            "that are not among the seeds of the study"
        )
    settings = study.tuning.model_dump(mode="json", exclude={"betas"})
    budget = settings.pop("iterations") or spec.iterations
    trial = spec.model_copy(
        update={"iterations": budget, "snapshots": 0, "record": (), "record_every": "log"}
    )
    return TuningJob(folder, data, trial, settings, beta)
