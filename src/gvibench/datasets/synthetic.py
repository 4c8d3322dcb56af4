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
MAX_LOG_RATE = 10.0
"""Maximum logarithm of a rate, so that counts stay below about 22,000."""


def generate(
    n: int, d: int, condition: float, separation: float, seed: int, targets: str
) -> tuple[Floats, Floats]:
    """Draw rows and their targets.

    Rows are drawn from N(0, S). The eigenvalues of S are evenly spaced on a logarithmic scale, with
    ratio `condition` and mean 1, and its eigenvectors are a random rotation. The margins x . theta
    have standard deviation `separation`, and the direction of theta is random. The target is ±1
    with probability sigmoid(±margin) for `classes`, the margin plus N(0, 1) noise for `real`, and
    a draw from the Poisson distribution of rate exp(margin) for `counts`. Margins above
    `MAX_LOG_RATE` count as that much.

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
    if targets == "real":
        return x, margins + target_rng.standard_normal(n)
    if targets == "counts":
        rates = np.exp(np.minimum(margins, MAX_LOG_RATE))
        # One uniform number per row, so that row i does not depend on n.
        return x, _poisson(target_rng.random(n), rates)
    # The condition u < sigmoid(m) is written as logit(u) < m, which cannot overflow.
    u = target_rng.random(n)
    return x, np.where(np.log(u) - np.log1p(-u) < margins, 1.0, -1.0)


def _poisson(uniforms: Floats, rates: Floats) -> Floats:
    """Return the smallest counts whose distribution function reaches the uniform numbers."""
    from scipy.stats import poisson

    return np.asarray(poisson.ppf(uniforms, rates), dtype=np.float64)


def _rotation(rng: np.random.Generator, d: int) -> Floats:
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    # LAPACK does not define the signs of the diagonal of R. With positive signs, Q is unique and
    # uniformly distributed.
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))


def load(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Generate the data set that the options describe."""
    options: dict[str, Any] = dict(spec.options)
    table, targets = Table(*generate(**options)), options["targets"]
    return Source(table, labels=entry.labels if targets == "classes" else {}, targets=targets)
