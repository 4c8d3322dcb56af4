"""Time per iteration against the number of features, and the work that counts predict."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import final

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
        """Return the number of operations."""
        return ((self.cubic * d + self.square + self.rows * n) * d + self.linear) * d


PAPER = {"vn": Work(1, 4), "sr-vn": Work(3, 4.5, 0.5), "bw-gd": Work(3, 5)}
"""As the paper counts, by solver: the update alone, without g and H."""
# The variances of the predictors are a product with a triangular matrix, n d^2, and the curvature
# half of a product, n d^2. Updates: Cholesky factor and triangular inverse (VN); a triangular
# product and C'C (SR-VN); a triangular product and inverse and a QR decomposition (BW-GD).
OURS = {"vn": Work(2 / 3, rows=2), "sr-vn": Work(2, rows=2), "bw-gd": Work(8 / 3, rows=2)}
"""What our dense form of a solver does in its matrix products, g and H included."""


@dataclass(frozen=True)
class Runtime:
    """Seconds per iteration of a solver on problems of one size, over runs that completed."""

    line: str
    """The solver's name for readers."""
    solver_id: str
    rows: int
    """Training rows."""
    features: int
    mean: float
    low: float
    high: float
    runs: int


def measure(dataset: xr.Dataset) -> list[Runtime]:
    """Return the time per iteration of every solver at every size, sizes in ascending order."""
    seconds = final(dataset["seconds"].values)
    iterations = np.asarray(dataset["iterations_done"].values, dtype=float)
    rows, features = (dataset[name].values.tolist() for name in ("n_train", "d"))
    found: dict[tuple[str, str, int, int], list[float]] = {}
    for one in configurations(dataset):
        # A step takes as long whatever its size: runs that differ in no more than that are one.
        size = rows[one.runs[0]], features[one.runs[0]]
        times = found.setdefault((one.line, one.solver_id, *size), [])
        times += [float(seconds[run] / iterations[run]) for run in one.usable if iterations[run]]
    measured = [
        Runtime(*key, float(np.mean(times)), min(times), max(times), len(times))
        for key, times in found.items()
        if times
    ]
    return sorted(measured, key=lambda one: (one.rows, one.features))


def exponent(points: Sequence[Runtime], cost: Callable[[Runtime], float]) -> float:
    """Return the slope of log(cost) in log(d) over the larger half of the sizes, at least two."""
    upper = points[-max(math.ceil(len(points) / 2), 2) :]
    if len(upper) < 2:
        return math.nan
    d, costs = np.log([one.features for one in upper]), np.log([cost(one) for one in upper])
    return float(np.polyfit(d, costs, 1)[0])
