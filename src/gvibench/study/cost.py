"""Estimate the cost of a plan: jobs, time, memory and disk space."""

from collections import Counter
from dataclasses import dataclass

from gvibench.study.inventory import Job, all_jobs
from gvibench.study.plan import Plan, RunJob, TuningJob
from gvibench.study.resources import (
    START_SECONDS,
    is_short,
    memory_mb,
    run_seconds,
    sizes,
    tuning_trials,
)

__all__ = ["JOB_SECONDS", "Cost", "estimate_cost", "job_seconds", "suggest_pack"]

MANY_RUNS = 5_000
"""Number of runs of a study above which larger blocks of seeds are suggested."""
FEW_JOBS = 1_000
"""Number of jobs that Snakemake plans in a few seconds."""
PACKS = (10, 20, 50, 100, 200, 500, 1000)

STAGE_SECONDS = {"data": 2.0, "optimum": 2.0, "beta": 10.0, "measure": 5.0, "aggregate": 2.0}
"""Duration of jobs that hardly depends on the study, including start-up."""
OUTPUT_SECONDS = 2.0
"""Duration of a table, figure, summary or page."""
JOB_SECONDS = 0.1
"""Overhead of Snakemake per job."""
BYTES_PER_RECORD = 70
"""Size of a record in a compressed trace."""
HEADINGS = {
    "run": "runs",
    "tuning": "tuning",
    **dict.fromkeys(("data", "optimum", "beta"), "data and optima"),
    "measure": "measures",
}
"""Headings of `gvibench plan` by stage."""
OUTPUTS = "tables, figures, reports"


@dataclass(frozen=True)
class Cost:
    """Estimated cost of a study on one machine."""

    jobs: Counter[str]
    """Number of jobs, by heading."""
    runs: int
    """Number of runs, of which a job can have several."""
    core_seconds: float
    peak_mb: int
    disk_mb: float

    def counted(self) -> str:
        """Return the number of jobs of each kind as text."""
        order = dict.fromkeys([*HEADINGS.values(), OUTPUTS])
        numbers = {kind: f"{self.jobs[kind]} {kind}" for kind in order if self.jobs[kind]}
        if self.runs > self.jobs["runs"]:
            numbers["runs"] = f"{self.jobs['runs']} with {self.runs} runs"
        return ", ".join(numbers.values())

    def wall_seconds(self, cores: int) -> float:
        """Return the wall time from start to report."""
        return self.core_seconds / cores + 3.0


def estimate_cost(plan: Plan, *, unfinished: bool = False) -> Cost:
    """Estimate jobs, time, memory and disk space of a plan, or of its unfinished jobs."""
    jobs: Counter[str] = Counter()
    seconds = disk = 0.0
    peak = runs = 0
    for job in all_jobs(plan):
        if unfinished and job.is_done:
            continue
        jobs[HEADINGS.get(job.stage, OUTPUTS)] += 1
        seconds += JOB_SECONDS + job_seconds(job)
        if isinstance(job.of, RunJob):
            runs += len(job.of.specs)
            peak = max(peak, memory_mb(job.of.specs[0]))
            disk += _trace_bytes(job.of)
    return Cost(jobs, runs, seconds, peak, disk / 1e6)


def suggest_pack(plan: Plan, study: str) -> int | None:
    """Return a larger number of seeds per job for a study of many short runs, or None."""
    jobs = plan.of_study(study)
    size, runs = max(len(job.specs) for job in jobs), sum(len(job.specs) for job in jobs)
    if runs <= MANY_RUNS or len(jobs) <= FEW_JOBS or not all(map(is_short, jobs)):
        return None
    seeds = plan.config.studies[study].seeds
    most = seeds if isinstance(seeds, int) else len(seeds)
    enough = next((pack for pack in PACKS if pack * FEW_JOBS >= runs), PACKS[-1])
    return min(enough, most) if min(enough, most) > size else None


def job_seconds(job: Job) -> float:
    """Estimate the duration of a job on one core."""
    if isinstance(job.of, RunJob):
        return START_SECONDS + len(job.of.specs) * run_seconds(job.of.specs[0])
    if isinstance(job.of, TuningJob):
        rows = job.of.settings["rows"]
        # Many trials diverge or converge early.
        trial = 0.7 * run_seconds(job.of.spec, rows if isinstance(rows, int) else None)
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
