"""Measure the time per iteration by the number of features, and count operations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import final_values

__all__ = ["OURS", "PAPER", "Runtime", "Work", "exponent", "measure"]


@dataclass(frozen=True)
class Work:
    """Operations per iteration, as a polynomial in d features and n rows."""

    cubic: float
    square: float = 0.0
    linear: float = 0.0
    rows: float = 0.0
    """Coefficient of n d^2."""

    def __call__(self, n: int, d: float) -> float:
        """Return the number of operations for n rows and d features."""
        return ((self.cubic * d + self.square + self.rows * n) * d + self.linear) * d


PAPER = {"vn": Work(1, 4), "sr-vn": Work(3, 4.5, 0.5), "bw-gd": Work(3, 5)}
"""Counts of the paper by solver: the update only, without g and H."""
# The variances of the predictors take a product with a triangular matrix, n d^2, and the curvature
# takes half of a full product, n d^2. The updates take a Cholesky factor and a triangular inverse
# (VN), a triangular product and C'C (SR-VN), or a triangular product, a triangular inverse and a QR
# decomposition (BW-GD).
OURS = {"vn": Work(2 / 3, rows=2), "sr-vn": Work(2, rows=2), "bw-gd": Work(8 / 3, rows=2)}
"""Counts of the matrix products in our dense form of each solver, including g and H."""


@dataclass(frozen=True)
class Runtime:
    """Seconds per iteration of a solver on problems of one size, over all usable runs."""

    line: str
    """Name of the solver for readers."""
    solver_id: str
    rows: int
    """Number of training rows."""
    features: int
    mean: float
    low: float
    high: float
    runs: int
    """Number of runs."""


def measure(dataset: xr.Dataset) -> list[Runtime]:
    """Return the time per iteration of each solver at each size, in ascending order of size."""
    seconds = final_values(dataset["seconds"])
    iterations = np.asarray(dataset["iterations_done"].values, dtype=float)
    rows, features = (dataset[name].values.tolist() for name in ("n_train", "d"))
    times_by_key: dict[tuple[str, str, int, int], list[float]] = {}
    for config in configurations(dataset):
        # The step does not change the time of an iteration, so configurations are pooled over it.
        size = rows[config.runs[0]], features[config.runs[0]]
        times = times_by_key.setdefault((config.line, config.solver_id, *size), [])
        times += [float(seconds[run] / iterations[run]) for run in config.usable if iterations[run]]
    runtimes = [
        Runtime(*key, float(np.mean(times)), min(times), max(times), len(times))
        for key, times in times_by_key.items()
        if times
    ]
    return sorted(runtimes, key=lambda runtime: (runtime.rows, runtime.features))


def exponent(points: Sequence[Runtime], cost: Callable[[Runtime], float]) -> float:
    """Return the slope of log(cost) in log(d) over the larger half of the sizes.

    The fit uses at least two sizes. Return NaN if there are fewer.
    """
    upper = points[-max(math.ceil(len(points) / 2), 2) :]
    if len(upper) < 2:
        return math.nan
    d = np.log([point.features for point in upper])
    costs = np.log([cost(point) for point in upper])
    return float(np.polyfit(d, costs, 1)[0])
