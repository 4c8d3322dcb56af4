"""Plan which Gaussians of a study are measured, and check that its outputs can be made.

A study measures Gaussians only if it has a table or figure that shows the results: the optimum of
each problem, and the final Gaussian of each run that does not converge to it.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from gvibench.errors import UserError
from gvibench.registry import MODELS, SOLVERS
from gvibench.spec.canonical import hash_text
from gvibench.spec.compatibility import is_reduced
from gvibench.spec.measures import MEASURED_FIGURES, MEASURED_TABLES, OPTIMUM
from gvibench.spec.run import RunSpec
from gvibench.store.shipped_posteriors import is_shipped
from gvibench.study.config import Study
from gvibench.study.data_shape import shape_of, training_rows
from gvibench.study.measure_job import MeasureJob
from gvibench.study.plan import RunJob

__all__ = [
    "Planned",
    "calibration_needs",
    "measure_jobs",
    "measures_of_study",
    "quality_needs",
    "truth_needs",
    "validate_truths",
]

MAX_STORED_BYTES = 2e6
"""Size above which runs store their covariance on request only."""


@dataclass(frozen=True)
class Planned:
    """Planned runs that differ only in their seed."""

    dataset: str
    solver: str
    spec: RunSpec
    has_optimum: bool
    """Whether gaps are measured from the optimum."""
    truth: str | None = None
    """The user's file with draws from the posterior."""


def measures_of_study(study: Study) -> set[str]:
    """Return the tables and figures of a study that show measures."""
    return {*study.tables, *study.figures} & {*MEASURED_TABLES, *MEASURED_FIGURES}


def measure_jobs(results: str, study: Study, job: RunJob) -> dict[str, MeasureJob]:
    """Return the jobs that measure the Gaussians of a run job, by path."""
    spec = job.specs[0]
    if not measures_of_study(study) or spec.gamma == 0:
        return {}
    problem = spec.problem().with_exact_expectations()
    optimum = job.exact_optimum or job.optimum
    truth = study.datasets[job.dataset].truth if "truth" in study.tables else None
    truth = truth and posixpath.normpath(posixpath.expanduser(truth))
    folder = f"{results}/{job.study}/measures/{job.dataset}"
    given = (job.study, job.data, problem, optimum)
    jobs = {}
    if optimum is not None:
        path = f"{folder}/{OPTIMUM}/{hash_text(optimum.path)[:8]}/{OPTIMUM}.json"
        jobs[path] = MeasureJob(path, *given, None, job.beta, truth)
    if _ends_elsewhere(spec) and spec.snapshots > 0:
        parts = PurePosixPath(job.path).parts[-3:-1]
        name = PurePosixPath(job.path).name.removesuffix(".zarr.zip")
        path = f"{folder}/{'/'.join(parts)}/{name}.json"
        jobs[path] = MeasureJob(path, *given, job, job.beta, truth)
    return jobs


def validate_truths(study: Study, plans: Sequence[Planned], where: str) -> None:
    """Raise UserError for a file with draws that the study cannot use."""
    for name, settings in study.datasets.items():
        if settings.truth is None:
            continue
        place = f"{where}.datasets.{name}.truth"
        if "truth" not in study.tables:
            raise UserError(f"{place} has no effect: add 'truth' to the tables of the study")
        specs = [plan.spec for plan in plans if plan.dataset == name]
        problems = {spec.problem().with_exact_expectations().canonical() for spec in specs}
        if len(problems) > 1:
            raise UserError(
                f"{place}: the draws belong to one problem, but the study varies it: give each "
                "problem its own entry under 'datasets'"
            )
        if specs and specs[0].model == "non-convex":
            raise UserError(f"{place}: model 'non-convex' has no posterior: use another model")


def quality_needs(plans: Sequence[Planned]) -> str:
    """Return what a study lacks to measure Gaussians, or an empty string."""
    if all(plan.spec.gamma == 0 for plan in plans):
        return "runs with gamma above 0, because V vanishes at gamma 0"
    others = [plan for plan in plans if _ends_elsewhere(plan.spec)]
    for plan in others:
        if plan.spec.snapshots == 0:
            return f"the final iterates of '{plan.solver}': set snapshots above 0"
        if not _stores_covariance(plan.spec):
            return (
                f"the covariance of '{plan.solver}' on '{plan.dataset}', which is too large to be "
                "stored by default: set record: [covariance_factor]"
            )
    measured = [plan for plan in plans if plan in others or plan.has_optimum]
    if measured and all(_is_wide(plan.spec) and not _is_dense(plan.spec) for plan in measured):
        return "problems with at most as many features as rows: others store no covariance"
    if measured:
        return ""
    return (
        "a Gaussian to measure: the optimum (set gap: optimum and beta above 0, and use a convex "
        "model), or a solver that does not converge to it: laplace, advi, bam or gsm"
    )


def _ends_elsewhere(spec: RunSpec) -> bool:
    """Return whether a run does not converge to the optimum, so that its Gaussian is of interest.

    Solvers may have another limit, and noise keeps stochastic runs away from the optimum.
    """
    return bool(SOLVERS.load(spec.solver).other_limit) or spec.expectation == "stochastic"


def _is_dense(spec: RunSpec) -> bool:
    """Return whether a run that is measured works with all features of a wide problem."""
    solver = SOLVERS.load(spec.solver)(**spec.solver_options)
    rows, columns = training_rows(spec.data) or 0, shape_of(spec.data).columns or 0
    return _ends_elsewhere(spec) and not is_reduced(spec, solver, rows, columns)


def _is_wide(spec: RunSpec) -> bool:
    """Return whether a problem is known to have more features than training rows."""
    columns, rows = shape_of(spec.data).columns, training_rows(spec.data)
    return columns is not None and rows is not None and columns + spec.data.intercept > rows


def _stores_covariance(spec: RunSpec) -> bool:
    columns = shape_of(spec.data).columns
    size = 8 * ((columns or 0) + spec.data.intercept) ** 2
    return size < MAX_STORED_BYTES or "covariance_factor" in spec.record


def calibration_needs(plans: Sequence[Planned]) -> str:
    """Return what a study lacks for a reliability diagram, or an empty string."""
    if all(MODELS.load(plan.spec.model).targets[0] != "classes" for plan in plans):
        return "a model of two classes: set model: logistic"
    if all(plan.spec.data.split == "none" for plan in plans):
        return "test rows: use another split than 'none'"
    return quality_needs(plans)


def truth_needs(plans: Sequence[Planned]) -> str:
    """Return what a study lacks for a comparison with true posteriors, or an empty string."""
    if lacking := quality_needs(plans):
        return lacking
    plans = [plan for plan in plans if plan.spec.gamma == 1]
    if not plans:
        return "runs with gamma 1"
    if any(
        plan.truth or plan.spec.model == "linear" or is_shipped(plan.spec.to_dict())
        for plan in plans
    ):
        return ""
    return (
        "a true posterior: set 'truth: draws.npz' of a data set, or use model 'linear' or one of "
        "the problems in docs/posterior-quality.md"
    )
