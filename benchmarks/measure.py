"""Provide a timer, problems of any size, and tables for all benchmarks."""

import functools
import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np

from gvibench import models
from gvibench import numerics as backends
from gvibench.datasets.cache import prepared_path
from gvibench.errors import UserError
from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.prepared import read_prepared
from gvibench.study.defaults import complete_data

__all__ = ["build", "interleaved", "real_rows", "synthetic_rows", "table", "timed"]

TURN_SECONDS = 2e-3


def timed(function: Callable[[], object]) -> float:
    """Return the CPU seconds that a call uses in this thread.

    All code measured here runs in one thread and is limited by the processor, so CPU time equals
    wall time on an idle machine and excludes the work of other processes on a busy one.
    """
    start = time.thread_time()
    function()
    return time.thread_time() - start


def interleaved(
    functions: dict[str, Callable[[], object]],
    seconds: float,
    min_turns: int = 3,
    max_turns: int = 100,
) -> dict[str, float]:
    """Return the median times of functions that alternate for about the given time.

    A turn lasts `TURN_SECONDS` or one call. A run takes thousands of steps in a row and finds its
    code and data in the caches, so a turn has several calls if they are short.
    """
    repeats = {name: max(1, round(TURN_SECONDS / timed(call))) for name, call in functions.items()}
    times: dict[str, list[float]] = {name: [] for name in functions}
    started = time.monotonic()
    for turn in range(max_turns):
        if turn >= min_turns and time.monotonic() - started > seconds:
            break
        for name, function in functions.items():
            count = repeats[name]
            times[name].append(timed(lambda f=function, n=count: [f() for _ in range(n)]) / count)
    return {name: median(values) for name, values in times.items()}


@functools.lru_cache(maxsize=1)
def real_rows(dataset: str) -> Rows | None:
    """Return the training rows of a data set, or None if it is not available."""
    try:
        prepared = read_prepared(prepared_path(complete_data({"dataset": dataset})))
    except UserError:
        return None
    return Rows(prepared.train_x, prepared.train_y)


def synthetic_rows(n: int, d: int) -> Rows:
    """Return Gaussian rows with a length of about one, and their labels."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    x /= np.sqrt(d)
    return Rows(x, np.where(x @ rng.standard_normal(d) > 0, 1.0, -1.0))


def build(rows: Rows, solver: str, beta: float = 1.0, expectation: str = "exact") -> Model:
    """Return a logistic model of the rows."""
    spec = RunSpec(
        data=DataSpec(dataset="synthetic"),
        beta=beta,
        solver=solver,
        step=1.0,
        expectation=expectation,
    )
    return models.build(spec, backends.select("cpu"), rows, Rows(rows.x[:1], rows.y[:1]))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with numeric columns aligned to the right."""
    right = [all(row[k][:1].isdigit() or row[k] == "-" for row in rows) for k in range(len(head))]
    lines = [head, ["---:" if is_number else "---" for is_number in right], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
