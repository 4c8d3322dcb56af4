"""Estimate the memory and time of jobs from the sizes of their problems."""

import math

from gvibench.registry import SOLVERS
from gvibench.spec.compatibility import is_reduced
from gvibench.spec.memory import BASE_MB, data_mb
from gvibench.spec.run import DataSpec, ProblemSpec, RunSpec
from gvibench.spec.tuning import MAX_EXTENSIONS
from gvibench.study.data_shape import shape_of, training_rows
from gvibench.study.plan import RunJob, TuningJob

__all__ = [
    "data_memory_mb",
    "is_short",
    "memory_mb",
    "run_seconds",
    "runtime_minutes",
    "seeds_per_job",
    "sizes",
    "tuning_minutes",
    "tuning_trials",
]

UNKNOWN = (10_000, 100)
"""Assumed rows and columns of a file that has not been read yet."""
START_SECONDS = 0.3
FLOPS = 1.2e10
"""BLAS speed of one core with few features, in floating-point operations per second."""
FLOPS_PER_FEATURE = 5e7
"""Increase of that speed per feature."""
MAX_FLOPS = 5e10
"""Maximum BLAS speed of one core."""
OVERHEAD_SECONDS = 2e-4
"""Python overhead of an iteration."""
RECORD_SHARE = 0.4
"""Time to record an iterate, relative to the time of a step."""

BLOCK_SEEDS = 5
"""Number of seeds per job if runs are short."""
BLOCK_RUN_SECONDS = 3.0
"""Maximum duration of such a run. A process starts in a tenth of this time."""
SHORT_SECONDS = 30.0
"""Maximum duration of a short job, about the time a cluster needs to start one."""


def sizes(data: DataSpec) -> tuple[int, int]:
    """Return the numbers of rows, including test rows, and columns."""
    shape = shape_of(data)
    n = shape.rows_estimate or UNKNOWN[0]
    if shape.rows is not None:
        n = shape.rows + (shape.test_rows or 0)
    d = UNKNOWN[1] if shape.columns is None else shape.columns
    if isinstance(data.train_size, int) and isinstance(data.test_size, int):
        n = min(n, data.train_size + data.test_size)
    return n, d + int(data.intercept)


def data_memory_mb(data: DataSpec) -> int:
    """Return the memory that preparing the data needs."""
    n, d = sizes(data)
    return data_mb(n, d)


def memory_mb(spec: ProblemSpec) -> int:
    """Return the memory of a run: two copies of the rows during loading, and some matrices."""
    n, d = sizes(spec.data)
    width = _width(spec, n, d)
    return BASE_MB + math.ceil((2.2 * 8 * n * d + 12 * 8 * width * width) / 1e6)


def _width(spec: ProblemSpec, n: int, d: int) -> int:
    """Return the number of dimensions of the linear algebra."""
    if d <= n:  # avoids loading the solver in the common case
        return d
    if not isinstance(spec, RunSpec):  # the search for an optimum works in the span of the rows
        return min(d, n + 2)
    solver = SOLVERS.load(spec.solver)(**spec.solver_options)
    return min(d, n + 2) if is_reduced(spec, solver, n, d) else d


def run_seconds(spec: RunSpec, max_rows: int | None = None) -> float:
    """Return the time of one run on at most `max_rows` training rows, without start-up."""
    n, d = sizes(spec.data)
    n = min(n, max_rows or n)
    width = _width(spec, n, d)
    evaluations = 40 if spec.solver == "ng-flow" else 1
    rows = n
    if spec.expectation == "stochastic" and spec.batch != "all":
        rows = min(n, spec.batch)
    work = evaluations * (2.0 * rows * width**2 + 60 * rows) + 6.0 * width**3
    if spec.expectation == "stochastic":
        work += rows * spec.samples * (2.0 * width + 300)
    rate = min(FLOPS + FLOPS_PER_FEATURE * width, MAX_FLOPS)
    step = OVERHEAD_SECONDS * evaluations + work / rate
    iterations = spec.iterations
    if spec.passes is not None:
        draws = spec.samples if spec.expectation == "stochastic" else 1
        share = rows / (training_rows(spec.data) or n)
        iterations = min(iterations, math.ceil(spec.passes / (draws * min(share, 1.0))))
    interval = spec.record_every if isinstance(spec.record_every, int) else iterations / 200
    seconds = iterations * step * (1 + RECORD_SHARE / max(interval, 1))
    return min(seconds, 2 * spec.seconds) if spec.seconds else seconds


def seeds_per_job(spec: RunSpec, *, exclusive: bool) -> int:
    """Return the number of seeds that share a job if the study does not set it.

    The time to start a process matters only for short runs. Longer runs, and runs on a GPU, gain
    from jobs that run at the same time. A timed run has its node to itself.
    """
    alone = exclusive or spec.device == "cuda" or run_seconds(spec) > BLOCK_RUN_SECONDS
    return 1 if alone else BLOCK_SEEDS


def _job_seconds(job: RunJob) -> float:
    return START_SECONDS + len(job.specs) * run_seconds(job.specs[0])


def is_short(job: RunJob) -> bool:
    """Return whether a cluster should group the job with others. Timed jobs stay alone."""
    return not job.exclusive and _job_seconds(job) <= SHORT_SECONDS


def runtime_minutes(job: RunJob) -> int:
    """Return a generous time limit for a cluster."""
    return 5 + math.ceil(5 * _job_seconds(job) / 60)


def tuning_trials(job: TuningJob) -> int:
    """Return the number of trials of all rounds without grid extensions."""
    return _trials(job, 0)


def _trials(job: TuningJob, extensions: int) -> int:
    if job.settings["search"] == "quasi-random":
        return len(job.settings["seeds"]) * int(job.settings["trials"])
    sides = (job.settings["steps"]["count"], len(job.settings["init_scales"]))
    # A side with one value is fixed.
    trials = len(job.settings["seeds"]) * math.prod(n + extensions * (n > 1) for n in sides)
    return int(job.settings["rounds"]) * trials


def tuning_minutes(job: TuningJob) -> int:
    """Return a generous time limit for a tuning job with grid extensions."""
    return 5 + math.ceil(5 * _trials(job, MAX_EXTENSIONS) * run_seconds(job.spec) / 60)
