"""Expand a config into jobs: data sets × solvers × steps × scales × seeds."""

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gvibench.errors import UserError, suggest
from gvibench.registry import MODELS
from gvibench.spec.canonical import hash_text
from gvibench.spec.run import ProblemSpec, RunSpec
from gvibench.spec.scoring import SCORE_FIGURES, SCORE_TABLES
from gvibench.study.config import MAX_RUNS, Config, Study
from gvibench.study.data_shape import test_rows, training_rows
from gvibench.study.measuring import measure_jobs, measures_of_study, validate_truths
from gvibench.study.plan import (
    BetaJob,
    DataJob,
    OptimumJob,
    Plan,
    RunJob,
    TuningJob,
    mask_tuned_fields,
)
from gvibench.study.requirements import Planned, validate_outputs
from gvibench.study.resources import seeds_per_job
from gvibench.study.variants import Variant, validate_titles, validate_variation, variants

__all__ = ["expand", "require_own_files"]


BATCHES = 10
"""Minimum number of batches in the rows of a tuning trial."""
MAX_NAME_BYTES = 255
"""Maximum length of the name of a file or folder."""
UNFINISHED_BYTES = len("..seed-9223372036854775807..12345678.part")
"""Length that the name of an unfinished file has in addition."""
PERIODIC = re.compile(r"(.+?)\1{19,}$")


def expand(config: Config) -> Plan:
    """Return the plan of a config. Raise UserError with the location of the first error."""
    config = _without_datasets(config)
    plan = Plan(config, {}, {}, {}, {}, {}, {})
    runs = 0
    for name, study in config.studies.items():
        for job in _expand_study(plan, name, study):
            if job.path in plan.runs:
                raise UserError(f"studies.{name}: two different runs have the path {job.path}")
            plan.runs[job.path] = job
            plan.measures.update(measure_jobs(plan.config.results, study, job))
            runs += len(job.specs)
            if runs > MAX_RUNS:
                raise UserError(f"studies.{name}: more than {MAX_RUNS} runs: vary less at a time")
    _validate_names(plan)
    return plan


def require_own_files(plan: Plan) -> None:
    """Raise UserError if one of the user's own data files is missing."""
    for job in plan.data.values():
        for path in job.own_files:
            if not Path(path).is_file():
                problem = "is a folder" if Path(path).is_dir() else "does not exist"
                raise UserError(
                    f"data set '{job.spec.dataset}': {path} {problem}: correct 'path', which is "
                    "relative to the current folder"
                )
    for measures in plan.measures.values():
        if measures.truth and not Path(measures.truth).is_file():
            raise UserError(
                f"data set '{measures.spec.data.dataset}': {measures.truth} does not exist: "
                "correct 'truth', which is relative to the current folder"
            )


def _validate_names(plan: Plan) -> None:
    """Raise UserError for names that file systems or Snakemake do not accept."""
    parts = {part for job in plan.runs.values() for part in PurePosixPath(job.path).parts}
    parts |= {PurePosixPath(path).name for path in (*plan.data, *plan.optima, *plan.betas)}
    for part in sorted(parts):
        length = len(part.encode()) + (UNFINISHED_BYTES if part.endswith(".zip") else 0)
        if length > MAX_NAME_BYTES:
            raise UserError(
                f"the name '{part[:40]}…' has {length} bytes, file systems allow {MAX_NAME_BYTES}: "
                "give what you vary its own entries under 'datasets' or 'solvers'"
            )
        if part.count(part[-1]) >= 20 and (match := PERIODIC.search(part)):
            raise UserError(
                f"the name '{part[:40]}…' ends with '{match[1][:10]}' 20 times, which Snakemake "
                "does not accept: choose another name"
            )


def _without_datasets(config: Config) -> Config:
    """Return the config without the data sets listed under `without`."""
    named = {dataset for study in config.studies.values() for dataset in study.datasets}
    for unknown in set(config.without) - named:
        raise UserError(f"without: no study has a data set '{unknown}'{suggest(unknown, named)}")
    studies = {}
    for name, study in config.studies.items():
        kept = {
            key: settings for key, settings in study.datasets.items() if key not in config.without
        }
        if kept:
            studies[name] = study.model_copy(update={"datasets": kept})
    if not studies:
        raise UserError("without: leaves nothing to run")
    return config.model_copy(update={"studies": studies})


def _expand_study(plan: Plan, name: str, study: Study) -> Iterator[RunJob]:
    seeds = list(range(study.seeds)) if isinstance(study.seeds, int) else study.seeds
    planned: list[Planned] = []
    for dataset, of_dataset in study.datasets.items():
        for unknown in set(of_dataset.solvers) - set(study.solvers):
            raise UserError(
                f"studies.{name}.datasets.{dataset}.solvers: '{unknown}' is not a solver of the "
                f"study{suggest(unknown, study.solvers)}"
            )
        expectations = set()
        for solver in study.solvers:
            where = f"studies.{name}, {solver} on {dataset}"
            found = list(variants(study, dataset, solver, where))
            for variant in found:
                has_optimum = _has_optimum(study, variant.spec)
                planned.append(
                    Planned(dataset, solver, variant.spec, has_optimum, of_dataset.truth)
                )
                expectations.add(_recorded_with(variant.spec))
            for starts in _by_job(study, found):
                yield from _jobs_of_starts(plan, name, study, dataset, solver, starts, seeds, where)
        if len(expectations) > 1:
            raise UserError(
                f"studies.{name}: on '{dataset}' runs with different expectations are compared: "
                "add 'record: [objective_exact]' to the study, so that all are measured alike"
            )
        validate_titles(study, dataset, f"studies.{name}")
    validate_variation(study, [group.spec for group in planned], f"studies.{name}")
    validate_truths(study, planned, f"studies.{name}")
    validate_outputs(study.figures, study.tables, planned, f"studies.{name}")
    _validate_score_range(study, f"studies.{name}")


def _validate_score_range(study: Study, where: str) -> None:
    """Raise UserError if scores of times have a range that is meant for numbers of passes."""
    shown = sorted({*study.figures, *study.tables} & {*SCORE_FIGURES, *SCORE_TABLES})
    if study.cost == "seconds" and shown and not study.score.has_own_range:
        raise UserError(
            f"{where}: with cost 'seconds', '{shown[0]}' needs a range of times: set both ends, "
            "e.g. score: {least: 0.001, budget: 100}"
        )


def _recorded_with(spec: RunSpec) -> str:
    """Return the expectation with which the objectives of a run are compared."""
    exact = spec.expectation == "stochastic" or "objective_exact" in spec.record
    return "exact" if exact else spec.expectation


def _by_job(study: Study, found: list[Variant]) -> list[list[Variant]]:
    """Return the variants that share jobs: short runs that differ in their named start.

    Tuned starts have different choices, and measures are stored by seed.
    """
    together: dict[tuple[str, str], list[Variant]] = {}
    for variant in found:
        alone = variant.tuned or measures_of_study(study) or _seeds_per_job(study, variant) == 1
        label = variant.label if alone else variant.shared_label or variant.label
        # Different settings may have the same label, which is an error that the paths reveal.
        without_start = variant.spec.replace(mean_scale=0.0, init_scale=1.0).canonical()
        together.setdefault((label, without_start), []).append(variant)
    return list(together.values())


def _seeds_per_job(study: Study, variant: Variant) -> int:
    if study.pack == "auto":
        return seeds_per_job(variant.spec, exclusive=study.exclusive)
    return study.pack


def _jobs_of_starts(
    plan: Plan,
    study_name: str,
    study: Study,
    dataset: str,
    solver: str,
    starts: list[Variant],
    seeds: list[int],
    where: str,
) -> Iterator[RunJob]:
    variant = starts[0]
    root = PurePosixPath(plan.config.results)
    data_path = f"{root}/data/{dataset}-{variant.spec.data.spec_hash[:8]}.zarr.zip"
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
    label = variant.shared_label if len(starts) > 1 else variant.label
    base = f"{root}/{study_name}/runs/{dataset}/{solver}/{label}"
    size = _seeds_per_job(study, variant)
    if study.pack == "auto":
        size = max(1, size // len(starts))
    packed = size > 1 or len(starts) > 1
    for block in _blocks(seeds, size):
        name = f"seeds-{block[0] // size}" if packed else f"seed-{block[0]}"
        yield RunJob(
            path=f"{base}/{name}.zarr.zip",
            study=study_name,
            dataset=dataset,
            solver=solver,
            data=data,
            specs=tuple(start.spec.replace(seed=seed) for start in starts for seed in block),
            packed=packed,
            exclusive=study.exclusive,
            tuning=tuning,
            beta=beta,
            optimum=optimum,
            exact_optimum=exact_optimum,
        )


def _blocks(seeds: list[int], size: int) -> list[list[int]]:
    """Return blocks of seeds aligned at `seed // size`, so that a new seed changes one block."""
    ordered = sorted(seeds)
    return [list(block) for _, block in itertools.groupby(ordered, key=lambda seed: seed // size)]


def _beta(
    plan: Plan, name: str, study: Study, dataset: str, data: DataJob, spec: RunSpec
) -> BetaJob:
    problem, betas = spec.problem(), tuple(study.tuning.betas)
    key = hash_text(json.dumps([mask_tuned_fields(problem, {"beta"}), betas], sort_keys=True))
    path = f"{plan.config.results}/{name}/tuning/{dataset}/beta-{key[:8]}.json"
    return plan.betas.setdefault(path, BetaJob(path, data, problem, betas))


def _has_optimum(study: Study, problem: ProblemSpec) -> bool:
    # A model that is not convex has several optima, and without a prior there may be none.
    return study.gap == "optimum" and MODELS.load(problem.model).convex and problem.penalises


def _optimum(
    plan: Plan,
    study: Study,
    dataset: str,
    data: DataJob,
    problem: ProblemSpec,
    beta: BetaJob | None,
) -> OptimumJob | None:
    if not _has_optimum(study, problem):
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
    _validate_tuning_rows(study, spec, where)
    settings = study.tuning.model_dump(mode="json", exclude={"betas"})
    budget = settings.pop("iterations") or spec.iterations
    fields = TuningJob.fields
    if study.starts:
        settings["init_scales"] = [spec.init_scale]
        fields = ("step",)
    trial = spec.replace(iterations=budget, snapshots=0, record=(), record_every="log")
    return TuningJob(folder, data, trial, settings, beta, fields)


def _validate_tuning_rows(study: Study, spec: RunSpec, where: str) -> None:
    """Raise UserError if a stochastic run is tuned on too few rows for realistic noise."""
    given = study.tuning.rows
    if given == "held-out" and spec.data.split == "none":
        raise UserError(
            f"{where}: tuning.rows is 'held-out', but with split 'none' no rows are held out: "
            "use another split or set tuning.rows to a number"
        )
    rows = test_rows(spec.data) if given == "held-out" else given
    if spec.expectation != "stochastic" or spec.batch == "all" or rows is None:
        return
    least = BATCHES * spec.batch
    if rows >= least:
        return
    available = training_rows(spec.data)
    if available is None or rows < available:
        raise UserError(
            f"{where}: tuning.rows is {given if given == rows else f'{rows} ({given})'}, too few "
            f"for batches of {spec.batch}, which would be less noisy than in the runs: use at "
            f"least {least} rows, or all of them"
        )
