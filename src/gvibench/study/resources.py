"""What a job will need, from the sizes of its problem: memory, time, disk."""

import math

from gvibench.engine.run import is_reduced
from gvibench.engine.tuning_grid import EXTENSIONS
from gvibench.solvers import configure, solver_class
from gvibench.spec.run import DataSpec, ProblemSpec, RunSpec
from gvibench.study.data_shape import shape_of
from gvibench.study.plan import RunJob, TuningJob

__all__ = [
    "data_memory_mb",
    "is_short",
    "memory_mb",
    "run_seconds",
    "runtime_minutes",
    "sizes",
    "tuning_minutes",
    "tuning_trials",
]

UNKNOWN = (10_000, 100)
"""Rows and columns of a file that nobody has read yet."""
BASE_MB = 250
"""An interpreter with its libraries."""
START_SECONDS = 0.6
FLOPS = 1.2e10
"""What one core of an ordinary machine gets out of BLAS with few features,"""
FLOPS_PER_FEATURE = 5e7
"""by how much that grows with their number,"""
MOST_FLOPS = 5e10
"""and where it ends."""
OVERHEAD_SECONDS = 2e-4
"""Python's share of an iteration."""
RECORD_SHARE = 0.6
"""Recording an iterate, as a share of making one."""

SHORT_SECONDS = 30.0
"""Up to here a job takes no longer than a cluster needs to start one."""


def sizes(data: DataSpec) -> tuple[int, int]:
    """Return rows and columns, test rows included."""
    shape = shape_of(data)
    n = UNKNOWN[0] if shape.rows is None else shape.rows + (shape.test_rows or 0)
    d = UNKNOWN[1] if shape.columns is None else shape.columns
    if isinstance(data.train_size, int) and isinstance(data.test_size, int):
        n = min(n, data.train_size + data.test_size)
    return n, d + int(data.intercept)


def data_memory_mb(data: DataSpec) -> int:
    """Return the memory that preparing the data takes."""
    n, d = sizes(data)
    return BASE_MB + math.ceil(3 * 8 * n * d / 1e6)


def memory_mb(spec: ProblemSpec) -> int:
    """Return the memory a run takes: its rows twice while they are loaded, and some matrices."""
    n, d = sizes(spec.data)
    width = _width(spec, n, d)
    return BASE_MB + math.ceil((2.2 * 8 * n * d + 12 * 8 * width * width) / 1e6)


def _width(spec: ProblemSpec, n: int, d: int) -> int:
    """Return in how many dimensions the linear algebra is done."""
    if d <= n:  # asked for every job of a plan, so the usual answer comes first
        return d
    if not isinstance(spec, RunSpec):  # an optimum is always found in the span of the rows
        return min(d, n + 2)
    solver = configure(spec.solver, spec.solver_options)
    return min(d, n + 2) if is_reduced(spec, solver, n, d) else d


def run_seconds(spec: RunSpec, most_rows: int | None = None) -> float:
    """Return the time one run takes on its training rows or a part of them, start-up apart."""
    n, d = sizes(spec.data)
    n = min(n, most_rows or n)
    width = _width(spec, n, d)
    evaluations = 40 if solver_class(spec.solver).id == "ng-flow" else 1
    rows = min(n, spec.batch) if spec.expectation == "stochastic" else n
    work = evaluations * (2.0 * rows * width**2 + 60 * rows) + 6.0 * width**3
    rate = min(FLOPS + FLOPS_PER_FEATURE * width, MOST_FLOPS)
    step = OVERHEAD_SECONDS * evaluations + work / rate
    every = spec.record_every if isinstance(spec.record_every, int) else spec.iterations / 200
    seconds = spec.iterations * step * (1 + RECORD_SHARE / max(every, 1))
    return min(seconds, 2 * spec.seconds) if spec.seconds else seconds


def _job_seconds(job: RunJob) -> float:
    return START_SECONDS + len(job.specs) * run_seconds(job.specs[0])


def is_short(job: RunJob) -> bool:
    """Say whether a cluster should do the job together with others; one that is timed, never."""
    return not job.exclusive and _job_seconds(job) <= SHORT_SECONDS


def runtime_minutes(job: RunJob) -> int:
    """Return a generous limit for the queue of a cluster."""
    return 5 + math.ceil(5 * _job_seconds(job) / 60)


def tuning_trials(job: TuningJob) -> int:
    """Return how many runs a round of tuning makes, extensions of its grid apart."""
    return _trials(job, 0)


def _trials(job: TuningJob, extensions: int) -> int:
    sides = (job.settings["steps"]["count"], len(job.settings["init_scales"]))
    # A side of one value is fixed.
    return len(job.settings["seeds"]) * math.prod(n + extensions * (n > 1) for n in sides)


def tuning_minutes(job: TuningJob) -> int:
    """Return a generous limit for one round of tuning, extensions of its grid included."""
    return 5 + math.ceil(5 * _trials(job, EXTENSIONS) * run_seconds(job.spec) / 60)
