"""List all jobs of a plan with their outputs and logs.

The rules of the workflow name the same files. A test compares both lists.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gvibench.study.plan import Plan, RunJob, TuningJob

__all__ = ["Job", "all_jobs", "jobs_of"]

TABLE_ENDS = ("csv", "md", "tex")
FIGURE_ENDS = ("pdf", "svg", "png", "csv")


@dataclass(frozen=True)
class Job:
    """One job of the workflow."""

    stage: str
    """`data`, `beta`, `optimum`, `tuning`, `run`, `measure`, `aggregate`, `config`, `table`,
    `figure`, `summary` or `page`."""
    outputs: tuple[str, ...]
    log: str
    of: RunJob | TuningJob | None = None
    """Run or tuning job of which this job is all or a part; None for other stages."""

    @property
    def path(self) -> str:
        """First output, which identifies the job."""
        return self.outputs[0]

    @property
    def is_done(self) -> bool:
        """Whether all outputs exist."""
        return all(Path(path).exists() for path in self.outputs)


def all_jobs(plan: Plan) -> list[Job]:
    """Return all jobs of a plan without duplicates."""
    jobs = {job.path: job for study in plan.config.studies for job in jobs_of(plan, study)}
    return list(jobs.values())


def jobs_of(plan: Plan, study: str) -> list[Job]:
    """Return all jobs of a study. Data and optima may be shared with other studies."""
    root = PurePosixPath(plan.config.results)
    runs = plan.of_study(study)
    tunings = {job.tuning.folder: job.tuning for job in runs if job.tuning}
    optima = [optimum for job in runs for optimum in (job.optimum, job.exact_optimum) if optimum]
    shared = [("data", job.data.path) for job in runs]
    shared += [("optimum", optimum.path) for optimum in optima]
    jobs = [Job(stage, (path,), _log(root, path)) for stage, path in _distinct(shared)]
    own = root / study
    betas = _distinct(("beta", job.beta.path) for job in runs if job.beta)
    jobs += [Job(stage, (path,), _log(own, path)) for stage, path in betas]
    for tuning in tunings.values():
        jobs.append(Job("tuning", (tuning.choice,), _log(own, tuning.choice), tuning))
    jobs += [Job("run", (job.path,), _log(own, job.path), job) for job in runs]
    measures = [job.path for job in plan.measures_of(study)]
    jobs += [Job("measure", (path,), _log(own, path)) for path in measures]
    return [*jobs, *_outputs(plan, study, own)]


def _distinct(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    yield from dict.fromkeys(pairs)


def _log(owner: PurePosixPath, path: str) -> str:
    """Return the log of the job that writes `path`, in the folder `logs` of `owner`."""
    inner = PurePosixPath(path).relative_to(owner)
    name = inner.name.removesuffix(".zarr.zip").removesuffix(".json")
    return (owner / "logs" / inner.with_name(f"{name}.log")).as_posix()


def _outputs(plan: Plan, study: str, own: PurePosixPath) -> Iterator[Job]:
    """Yield the jobs that follow the runs: aggregate, config, tables, figures and reports."""
    settings, logs = plan.config.studies[study], own / "logs"
    aggregate = (f"{own}/aggregate.zarr.zip", f"{own}/manifest.json")
    yield Job("aggregate", aggregate, f"{logs}/aggregate.log")
    yield Job("config", (f"{own}/config.yaml",), f"{logs}/config.log")
    for stage, names, ends in (
        ("table", settings.tables, TABLE_ENDS),
        ("figure", settings.figures, FIGURE_ENDS),
    ):
        for name in dict.fromkeys(names):
            outputs = tuple(f"{own}/{stage}s/{name}.{end}" for end in ends)
            yield Job(stage, outputs, f"{logs}/{stage}s/{name}.log")
    yield Job("summary", (f"{own}/summary.md",), f"{logs}/summary.log")
    yield Job("page", (f"{own}/report/index.html",), f"{logs}/page.log")
