"""Generate data sets of a chosen size, condition number and separation from a seed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.read import Table
from gvibench.datasets.source import Source
from gvibench.spec.catalogue import DatasetEntry
from gvibench.spec.run import DataSpec

__all__ = ["generate", "load"]

Floats = NDArray[np.float64]


def generate(
    n: int, d: int, condition: float, separation: float, seed: int, regression: bool
) -> tuple[Floats, Floats]:
    """Draw rows and their targets.

    Rows are drawn from N(0, S). The eigenvalues of S are evenly spaced on a logarithmic scale, with
    ratio `condition` and mean 1, and its eigenvectors are a random rotation. The margins x . theta
    have standard deviation `separation`, and the direction of theta is random. The target is ±1
    with probability sigmoid(±margin), or the margin plus N(0, 1) noise for regression.

    Row i depends on the seed and on d but not on n, so a larger data set starts with the rows of a
    smaller one.
    """
    problem_rng, row_rng, target_rng = np.random.default_rng(seed).spawn(3)
    eigenvalues = np.geomspace(1.0, condition, d)
    eigenvalues /= eigenvalues.mean()
    rotation = _rotation(problem_rng, d)
    # theta is in the coordinates of the eigenvectors, where the covariance is diagonal.
    theta = problem_rng.standard_normal(d)
    theta *= separation / np.sqrt(eigenvalues @ theta**2)

    scores = row_rng.standard_normal((n, d)) * np.sqrt(eigenvalues)
    margins = scores @ theta
    x = scores @ rotation.T
    if regression:
        return x, margins + target_rng.standard_normal(n)
    # The condition u < sigmoid(m) is written as logit(u) < m, which cannot overflow.
    u = target_rng.random(n)
    return x, np.where(np.log(u) - np.log1p(-u) < margins, 1.0, -1.0)


def _rotation(rng: np.random.Generator, d: int) -> Floats:
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    # LAPACK does not define the signs of the diagonal of R. With positive signs, Q is unique and
    # uniformly distributed.
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))


def load(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Generate the data set that the options describe."""
    options: dict[str, Any] = dict(spec.options)
    regression = options.pop("target") == "regression"
    table = Table(*generate(**options, regression=regression))
    return Source(table, labels={} if regression else entry.labels, regression=regression)
