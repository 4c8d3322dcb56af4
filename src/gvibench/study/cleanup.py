"""Keeping a results folder in order: bad traces, orphans, and what a study will cost."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gvibench.engine.optimum import read_optimum
from gvibench.errors import UserError
from gvibench.store.prepared import read_prepared
from gvibench.study.aggregate import check
from gvibench.study.inventory import Job, every_job
from gvibench.study.plan import Plan, RunJob, TuningJob
from gvibench.study.resources import START_SECONDS, memory_mb, run_seconds, sizes, tuning_trials

__all__ = ["Cost", "bad_files", "estimate_cost", "orphans", "require_own_files"]

STAGE_SECONDS = {"data": 2.0, "optimum": 2.0, "beta": 10.0, "choice": 0.8, "aggregate": 2.0}
"""Time of jobs that hardly depends on the study, start-up included."""
OUTPUT_SECONDS = 3.5
"""Time of a table, figure, summary or page."""
HEADINGS = {
    "run": "runs",
    "round": "tuning",
    "choice": "tuning",
    **dict.fromkeys(("data", "optimum", "beta"), "data and optima"),
}
"""What `gvibench plan` calls the jobs of a stage."""
OUTPUTS = "tables, figures, reports"
STALE_SECONDS = 3600.0
"""Nobody writes at one file for longer."""
JOB_SECONDS = 0.1
"""What Snakemake itself spends on a job."""
BYTES_PER_RECORD = 70
"""Of a compressed trace: eight numbers."""


def bad_files(plan: Plan) -> dict[str, str]:
    """Return every file that exists but cannot be used, and what is wrong with it."""
    bad: dict[str, str] = {}
    readers: dict[str, Callable[[str], object]] = {
        **dict.fromkeys(plan.data, read_prepared),
        **dict.fromkeys(plan.optima, read_optimum),
    }
    for study in plan.config.studies:
        readers[f"{plan.config.results}/{study}/aggregate.zarr.zip"] = _read_aggregate
    for path, read in readers.items():
        if Path(path).exists():
            try:
                read(path)
            except UserError as error:
                bad[path] = str(error)
    for job in plan.runs.values():
        if Path(job.path).exists():
            bad |= check(job.entries())
    return bad


def _read_aggregate(path: str) -> None:
    from gvibench.analysis.configurations import open_aggregate

    with open_aggregate(path) as dataset:
        dataset.load()


def require_own_files(plan: Plan) -> None:
    """Refuse a plan whose data files of the user's are not there."""
    for job in plan.data.values():
        for path in job.own_files:
            if not Path(path).is_file():
                wrong = "is a folder" if Path(path).is_dir() else "does not exist"
                raise UserError(
                    f"data set '{job.spec.dataset}': {path} {wrong}: correct 'path', which is "
                    "relative to the folder you are in"
                )


def orphans(plan: Plan) -> list[Path]:
    """Return the files of runs and tuning that the config no longer names.

    Data and optima are left alone: studies of other configs may share them. What a kill has left
    of a file is nobody's, wherever it lies.
    """
    root = Path(plan.config.results)
    named = {*plan.runs, *plan.betas}
    for job in plan.tuning.values():
        named |= {job.choice, *job.rounds}
    folders = [
        root / study / stage for study in plan.config.studies for stage in ("runs", "tuning")
    ]
    found = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    found |= set(root.rglob(".*.part"))
    return sorted(path for path in found if path.as_posix() not in named and _is_left_over(path))


def _is_left_over(path: Path) -> bool:
    """Tell results, and what a kill left of one, from what a run is working on now."""
    if path.name.endswith(".part"):
        return time.time() - path.stat().st_mtime > STALE_SECONDS
    return not path.name.startswith(".")  # a checkpoint: its run is not done yet


@dataclass(frozen=True)
class Cost:
    """What a study will take on one machine."""

    jobs: Counter[str]
    core_seconds: float
    peak_mb: int
    disk_mb: float

    def counted(self) -> str:
        """Return how many jobs there are of each kind."""
        order = dict.fromkeys([*HEADINGS.values(), OUTPUTS])
        return ", ".join(f"{self.jobs[kind]} {kind}" for kind in order if self.jobs[kind])

    def wall_seconds(self, cores: int) -> float:
        """Return the time from start to report."""
        return self.core_seconds / cores + 3.0


def estimate_cost(plan: Plan, *, unfinished: bool = False) -> Cost:
    """Estimate jobs, time, memory and disk of what a config asks for, or of what is not done."""
    jobs: Counter[str] = Counter()
    seconds = disk = 0.0
    peak = 0
    for job in every_job(plan):
        if unfinished and job.is_done:
            continue
        jobs[HEADINGS.get(job.stage, OUTPUTS)] += 1
        seconds += JOB_SECONDS + _job_seconds(job)
        if isinstance(job.of, RunJob):
            peak = max(peak, memory_mb(job.of.specs[0]))
            disk += _trace_bytes(job.of)
    return Cost(jobs, seconds, peak, disk / 1e6)


def _job_seconds(job: Job) -> float:
    if isinstance(job.of, RunJob):
        return START_SECONDS + len(job.of.specs) * run_seconds(job.of.specs[0])
    if isinstance(job.of, TuningJob) and job.stage == "round":
        # A good part of the trials diverges early.
        trial = 0.7 * run_seconds(job.of.spec, job.of.settings["rows"])
        return START_SECONDS + tuning_trials(job.of) * trial
    return STAGE_SECONDS.get(job.stage, OUTPUT_SECONDS)


def _trace_bytes(job: RunJob) -> float:
    spec = job.specs[0]
    every = spec.record_every if isinstance(spec.record_every, int) else spec.iterations / 200
    d = sizes(spec.data)[1]
    return len(job.specs) * (
        20_000
        + BYTES_PER_RECORD * spec.iterations / max(every, 1)
        + 8 * spec.snapshots * d
        + (4 * d * d if 8 * d * d < 2e6 else 0)
    )
