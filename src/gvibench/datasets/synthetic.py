"""A seeded generator of problems with a chosen size, condition number and separation."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["generate"]

Floats = NDArray[np.float64]


def generate(
    n: int, d: int, condition: float, separation: float, seed: int, regression: bool
) -> tuple[Floats, Floats]:
    """Draw rows and their targets.

    Rows are N(0, S), where the eigenvalues of S are spaced evenly in their logarithm, have ratio
    `condition` and mean 1, and its eigenvectors are a random rotation. The margins x . theta have
    standard deviation `separation`, in a random direction theta. The target is ±1 with
    probability sigmoid(±margin), or the margin plus N(0, 1) noise for regression.

    Row i depends on the seed and on d but not on n: a larger set begins with the smaller one.
    """
    of_problem, of_rows, of_targets = np.random.default_rng(seed).spawn(3)
    eigenvalues = np.geomspace(1.0, condition, d)
    eigenvalues /= eigenvalues.mean()
    rotation = _rotation(of_problem, d)
    # theta in the coordinates of the eigenvectors, where the covariance is diagonal
    theta = of_problem.standard_normal(d)
    theta *= separation / np.sqrt(eigenvalues @ theta**2)

    scores = of_rows.standard_normal((n, d)) * np.sqrt(eigenvalues)
    margins = scores @ theta
    x = scores @ rotation.T
    if regression:
        return x, margins + of_targets.standard_normal(n)
    # u < sigmoid(m) written as logit(u) < m, which cannot overflow
    u = of_targets.random(n)
    return x, np.where(np.log(u) - np.log1p(-u) < margins, 1.0, -1.0)


def _rotation(rng: np.random.Generator, d: int) -> Floats:
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    # LAPACK leaves the signs of R's diagonal open; fixing them makes Q unique and uniform.
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))
