"""Estimate the cost of a plan: jobs, time, memory and disk space."""

from collections import Counter
from dataclasses import dataclass

from gvibench.study.inventory import Job, all_jobs
from gvibench.study.plan import Plan, RunJob, TuningJob
from gvibench.study.resources import START_SECONDS, memory_mb, run_seconds, sizes, tuning_trials

__all__ = ["Cost", "estimate_cost"]

STAGE_SECONDS = {"data": 2.0, "optimum": 2.0, "beta": 10.0, "choice": 0.8, "aggregate": 2.0}
"""Duration of jobs that hardly depends on the study, including start-up."""
OUTPUT_SECONDS = 3.5
"""Duration of a table, figure, summary or page."""
JOB_SECONDS = 0.1
"""Overhead of Snakemake per job."""
BYTES_PER_RECORD = 70
"""Size of a record in a compressed trace."""
HEADINGS = {
    "run": "runs",
    "round": "tuning",
    "choice": "tuning",
    **dict.fromkeys(("data", "optimum", "beta"), "data and optima"),
}
"""Headings of `gvibench plan` by stage."""
OUTPUTS = "tables, figures, reports"


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a study on one machine."""

    jobs: Counter[str]
    core_seconds: float
    peak_mb: int
    disk_mb: float

    def counted(self) -> str:
        """Return the number of jobs of each kind as text."""
        order = dict.fromkeys([*HEADINGS.values(), OUTPUTS])
        return ", ".join(f"{self.jobs[kind]} {kind}" for kind in order if self.jobs[kind])

    def wall_seconds(self, cores: int) -> float:
        """Return the wall time from start to report."""
        return self.core_seconds / cores + 3.0


def estimate_cost(plan: Plan, *, unfinished: bool = False) -> Cost:
    """Estimate jobs, time, memory and disk space of a plan, or of its unfinished jobs."""
    jobs: Counter[str] = Counter()
    seconds = disk = 0.0
    peak = 0
    for job in all_jobs(plan):
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
        # Many trials diverge early.
        trial = 0.7 * run_seconds(job.of.spec, job.of.settings["rows"])
        return START_SECONDS + tuning_trials(job.of) * trial
    return STAGE_SECONDS.get(job.stage, OUTPUT_SECONDS)


def _trace_bytes(job: RunJob) -> float:
    spec = job.specs[0]
    interval = spec.record_every if isinstance(spec.record_every, int) else spec.iterations / 200
    d = sizes(spec.data)[1]
    return len(job.specs) * (
        20_000
        + BYTES_PER_RECORD * spec.iterations / max(interval, 1)
        + 8 * spec.snapshots * d
        + (4 * d * d if 8 * d * d < 2e6 else 0)
    )
