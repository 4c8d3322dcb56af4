"""From a config to jobs: which files there will be, and the one text that defines each.

A job is defined by its `text`, canonical JSON that holds everything it depends on, the hash of its
code included. The workflow hands exactly this text to the command that does the job, so what is
tracked is what is used. Paths carry short readable labels.
"""

import functools
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from gvibench import figures, solvers, tables
from gvibench.datasets.catalogue import complete, find
from gvibench.errors import UserError
from gvibench.optimum import optimum_code_hash
from gvibench.presets import PAPER_STEPS
from gvibench.provenance import code_hash
from gvibench.run import run_code_hash
from gvibench.spec import DataSpec, ProblemSpec, RunSpec, canonical_json, hash_text, parse, suggest
from gvibench.study import Config, DatasetSettings, LogGrid, Settings, SolverSettings, Study
from gvibench.traces import group_name

__all__ = ["BetaJob", "DataJob", "OptimumJob", "Plan", "RunJob", "TuningJob", "expand"]

TUNED = "tuned"
PLACEHOLDER = 1.0
"""Stands for a number that the tuning stage will choose; in texts it is null."""


@dataclass(frozen=True)
class DataJob:
    """Prepares one data set in one split."""

    path: str
    spec: DataSpec

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        loader = find(self.spec).loader.partition(":")[0]
        code = code_hash(["gvibench.datasets.build", loader])
        return _text(code_hash=code, spec=self.spec.model_dump(mode="json"))


@dataclass(frozen=True)
class BetaJob:
    """Chooses beta for one problem, on a validation part of its training rows."""

    path: str
    data: DataJob
    spec: ProblemSpec
    betas: tuple[float, ...]

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        code = hash_text(optimum_code_hash(self.spec) + code_hash(["gvibench.tuning"]))
        return _text(code_hash=code, spec=_template(self.spec, {"beta"}), betas=self.betas)


@dataclass(frozen=True)
class OptimumJob:
    """Finds the optimum of one problem."""

    path: str
    data: DataJob
    spec: ProblemSpec
    beta: BetaJob | None

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        spec = _template(self.spec, {"beta"} if self.beta else set())
        return _text(code_hash=optimum_code_hash(self.spec), spec=spec)


@dataclass(frozen=True)
class TuningJob:
    """Tries a grid of steps and initial scales for one solver on one data set."""

    folder: str
    data: DataJob
    spec: RunSpec
    settings: Mapping[str, Any]
    beta: BetaJob | None

    @property
    def choice(self) -> str:
        """Path of the choice."""
        return f"{self.folder}/choice.json"

    @property
    def rounds(self) -> list[str]:
        """Paths of the rounds' trials."""
        return [f"{self.folder}/round-{k}.zarr.zip" for k in range(self.settings["rounds"])]

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        opened = {"step", "init_scale"} | ({"beta"} if self.beta else set())
        spec = _template(self.spec, opened)
        code = _tuning_code_hash(self.spec)
        return _text(code_hash=code, spec=spec, tuning=dict(self.settings))


@dataclass(frozen=True)
class RunJob:
    """Does one run, or a block of runs that differ in their seed only."""

    path: str
    study: str
    dataset: str
    solver: str
    data: DataJob
    specs: tuple[RunSpec, ...]
    """One per seed, with placeholders for what is `opened`."""
    packed: bool
    exclusive: bool
    tuning: TuningJob | None
    beta: BetaJob | None
    optimum: OptimumJob | None

    @property
    def opened(self) -> set[str]:
        """The fields that the tuning stage chooses."""
        tuned = {"step", "init_scale"} if self.tuning else set()
        return tuned | ({"beta"} if self.beta else set())

    @property
    def choices(self) -> list[str]:
        """The files with what the tuning stage chose."""
        tuned = [self.tuning.choice] if self.tuning else []
        return tuned + ([self.beta.path] if self.beta else [])

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        return _text(
            code_hash=_run_code_hash(self.specs[0]),
            exclusive=self.exclusive,
            packed=self.packed,
            specs=[_template(spec, self.opened) for spec in self.specs],
        )

    def entries(self) -> list[dict[str, Any]]:
        """Return what the manifest says of each run in this job."""
        shared = {
            "path": self.path,
            "dataset": self.dataset,
            "solver": self.solver,
            "choice": self.tuning.choice if self.tuning else None,
            "opened": sorted(self.opened),
            "code_hash": _run_code_hash(self.specs[0]),
            "optimum": self.optimum.path if self.optimum else None,
        }
        return [
            {
                **shared,
                "group": group_name(spec.seed) if self.packed else None,
                "seed": spec.seed,
                "spec_hash": template_hash(_template(spec, self.opened)),
            }
            for spec in self.specs
        ]


@dataclass(frozen=True)
class Plan:
    """Everything a config asks for."""

    config: Config
    runs: dict[str, RunJob]
    """By path, as are the others."""
    data: dict[str, DataJob]
    optima: dict[str, OptimumJob]
    tuning: dict[str, TuningJob]
    """By folder."""
    betas: dict[str, BetaJob]

    def of_study(self, study: str) -> list[RunJob]:
        """Return the run jobs of one study."""
        return [job for job in self.runs.values() if job.study == study]

    def aggregate_text(self, study: str) -> str:
        """Return the text that defines a study's aggregation, its inputs apart."""
        return _text(
            code_hash=code_hash(["gvibench.aggregate"]), dask=self.config.dask, study=study
        )

    def table_text(self, study: str, name: str) -> str:
        """Return the text that defines a table."""
        code = code_hash(["gvibench.tables", tables.MODULES[name]])
        return _text(code_hash=code, table=name, study=study)

    def figure_text(self, study: str, name: str) -> str:
        """Return the text that defines a figure."""
        code = code_hash(["gvibench.figures", figures.MODULES[name]])
        style = self.config.style.model_dump(mode="json")
        return _text(code_hash=code, figure=name, study=study, style=style)

    def summary_text(self, study: str) -> str:
        """Return the text that defines a study's summary."""
        settings = self.config.studies[study]
        return _text(
            code_hash=code_hash(["gvibench.report"]),
            study=study,
            tables=settings.tables,
            figures=settings.figures,
        )

    def manifest(self, study: str) -> str:
        """Return the text of a study's manifest: every run it consists of."""
        # Sorted, so that the order of a config does not matter.
        jobs = sorted(self.of_study(study), key=lambda job: job.path)
        runs = [entry for job in jobs for entry in job.entries()]
        settings = self.config.studies[study]
        head = {"study": study, "title": settings.title, "gap": settings.gap}
        lines = ",\n".join(json.dumps(run, sort_keys=True) for run in runs)
        return f'{json.dumps(head)[:-1]}, "runs": [\n{lines}\n]}}\n'


def template_hash(spec: Mapping[str, Any]) -> str:
    """Return the hash of a spec in which step and initial scale may be open."""
    return hash_text(json.dumps(spec, sort_keys=True, separators=(",", ":")))


def expand(config: Config) -> Plan:
    """Expand a config into jobs; a mistake in it is one sentence with the key's path."""
    plan = Plan(config, {}, {}, {}, {}, {})
    for name, study in config.studies.items():
        for job in _expand_study(plan, name, study):
            if job.path in plan.runs:
                raise UserError(f"studies.{name}: two different runs have the path {job.path}")
            plan.runs[job.path] = job
    return plan


def _expand_study(plan: Plan, name: str, study: Study) -> Iterator[RunJob]:
    seeds = list(range(study.seeds)) if isinstance(study.seeds, int) else study.seeds
    for dataset, of_dataset in study.datasets.items():
        for unknown in set(of_dataset.solvers) - set(study.solvers):
            raise UserError(
                f"studies.{name}.datasets.{dataset}.solvers: '{unknown}' is not a solver of the "
                f"study{suggest(unknown, study.solvers)}"
            )
        for solver, of_solver in study.solvers.items():
            where = f"studies.{name}, {solver} on {dataset}"
            nearest = of_dataset.solvers.get(solver, SolverSettings())
            layers = [study, of_dataset, of_solver, nearest]
            for variant in _variants(layers, study, of_dataset, dataset, of_solver, solver, where):
                yield from _jobs_of_variant(
                    plan, name, study, dataset, solver, variant, seeds, where
                )


@dataclass(frozen=True)
class _Variant:
    """A run but for its seed."""

    label: str
    spec: RunSpec
    tuned: bool
    beta_tuned: bool


def _variants(
    layers: list[Settings],
    study: Study,
    of_dataset: DatasetSettings,
    dataset: str,
    of_solver: SolverSettings,
    solver: str,
    where: str,
) -> Iterator[_Variant]:
    solver_id = of_solver.solver or solver
    options = {**of_solver.options, **layers[-1].options}  # type: ignore[attr-defined]
    data = _data_spec(of_dataset, dataset, where)
    fixed = _merge(layers)
    steps = fixed.pop("step", None)
    scales = fixed.pop("init_scale", 1.0)
    beta = fixed.pop("beta", find(data).beta)
    fixed["beta"] = PLACEHOLDER if beta == TUNED else beta
    try:
        fixed["solver_options"] = solvers.configure(solver_id, options).model_dump()
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
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
        for key, value in changes.items():
            _set(values, key, value)
        spec = parse(RunSpec, values, where)
        label = TUNED if tuned else f"step-{_label(step)}_scale-{_label(scale)}"
        label = "_".join([label, *(f"{key}-{_label(v)}" for key, v in changes.items())])
        yield _Variant(label, spec, tuned, beta == TUNED and "beta" not in changes)


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
    try:
        return complete({"dataset": settings.dataset or name, **given})
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


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
    optimum = _optimum(plan, study, dataset, data, variant.spec, beta)
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
        )


def _blocks(seeds: list[int], size: int) -> list[list[int]]:
    """Cut seeds into blocks aligned by `seed // size`, so that a new seed touches one block."""
    ordered = sorted(seeds)
    return [list(block) for _, block in itertools.groupby(ordered, key=lambda seed: seed // size)]


def _beta(
    plan: Plan, name: str, study: Study, dataset: str, data: DataJob, spec: RunSpec
) -> BetaJob:
    problem, betas = spec.problem(), tuple(study.tuning.betas)
    key = hash_text(json.dumps([_template(problem, {"beta"}), betas], sort_keys=True))
    path = f"{plan.config.results}/{name}/tuning/{dataset}/beta-{key[:8]}.json"
    return plan.betas.setdefault(path, BetaJob(path, data, problem, betas))


def _optimum(
    plan: Plan, study: Study, dataset: str, data: DataJob, spec: RunSpec, beta: BetaJob | None
) -> OptimumJob | None:
    # The non-convex model has no one optimum, and without a prior there may be none.
    if study.gap != "optimum" or spec.model == "non-convex" or spec.beta == 0:
        return None
    problem = spec.problem()
    key = problem.spec_hash if beta is None else hash_text(beta.path)
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


def _template(spec: ProblemSpec, opened: set[str]) -> dict[str, Any]:
    """Return a spec as JSON with null for what is still to be chosen."""
    return {**spec.model_dump(mode="json"), **dict.fromkeys(opened)}


def _text(**parts: Any) -> str:
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)


# Many runs share their code: hash it once.


def _run_code_hash(spec: RunSpec) -> str:
    return _cached_code_hash(spec.solver, spec.model, spec.expectation, tuning=False)


def _tuning_code_hash(spec: RunSpec) -> str:
    return _cached_code_hash(spec.solver, spec.model, spec.expectation, tuning=True)


@functools.cache
def _cached_code_hash(solver: str, model: str, expectation: str, *, tuning: bool) -> str:
    spec = RunSpec(
        data=DataSpec(dataset="any"),
        beta=1.0,
        step=1.0,
        solver=solver,
        model=model,  # type: ignore[arg-type]
        expectation=expectation,  # type: ignore[arg-type]
    )
    run = run_code_hash(spec)
    return hash_text(run + code_hash(["gvibench.tuning"])) if tuning else run
