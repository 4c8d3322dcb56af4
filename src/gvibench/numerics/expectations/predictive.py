"""Compute log E sigmoid(X) for X ~ N(mu, s2), the log probability that a row has its label."""

import numpy as np
from numpy.typing import NDArray

from gvibench.numerics import expectations

__all__ = ["log_mean_logistic"]

Floats = NDArray[np.float64]

SMALL = 1e-4
"""Probability below which the relative error of the table may exceed 1e-7."""
REACH = 9.0
"""Half the range of integration, in standard deviations of X."""
SPACING = 0.5
"""Distance of the nodes, in standard deviations of X and in units of the sigmoid."""
MAX_NODES = 20_000
BISECTIONS = 60


def log_mean_logistic(mu: Floats, s2: Floats) -> Floats:
    """Return log E sigmoid(X) with a relative error below 1e-6, however small the probability is.

    The table of `exact` has a small absolute error, so that its logarithm is used for probabilities
    above `SMALL` only. The others are integrated numerically.
    """
    mu, s2 = np.broadcast_arrays(np.asarray(mu, np.float64), np.asarray(s2, np.float64))
    _, mean, _ = expectations.build("exact")(mu, s2)
    small = mean < SMALL  # NaN is not small and stays
    result = np.log(np.where(small, 1.0, mean))
    result[small] = [_integrated(*point) for point in zip(mu[small], s2[small], strict=True)]
    return result


def _integrated(mu: float, s2: float) -> float:
    """Return log E sigmoid(X) by the trapezoid rule around the mode of the integrand."""
    s = float(np.sqrt(s2))
    if s == 0.0:
        return -float(np.logaddexp(0.0, -mu))
    # The integrand sigmoid(x) exp(-(x - mu)^2 / (2 s2)) is log-concave and at most as wide as X.
    low, high = mu, mu + s2
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        rising = np.exp(-np.logaddexp(0.0, middle)) > (middle - mu) / s2
        low, high = (middle, high) if rising else (low, middle)
    spacing = max(SPACING * min(1.0, 1.0 / s), 2 * REACH / MAX_NODES)
    node = np.arange(-REACH, REACH + spacing / 2, spacing)
    x = low + s * node
    terms = -np.logaddexp(0.0, -x) - 0.5 * ((x - mu) / s) ** 2
    largest = terms.max()
    total = np.exp(terms - largest).sum() * spacing / np.sqrt(2 * np.pi)
    return float(largest + np.log(total))
