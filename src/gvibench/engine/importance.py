"""Compare a Gaussian with the posterior by importance sampling.

Draws theta from q have the log weights lw = log p(y, theta) - log q(theta). The mean of the weights
estimates the evidence p(y). The heavier the tail of the weights, the worse q covers the posterior.
The shape k-hat of a generalised Pareto distribution, fitted to the largest weights, measures this
tail (Vehtari, Simpson, Gelman, Yao and Gabry, Pareto smoothed importance sampling, JMLR 2024).
"""

import math

import numpy as np
from numpy.typing import NDArray

from gvibench.models.base import Model
from gvibench.numerics.gaussian import Factor

__all__ = [
    "MAX_EVALUATIONS",
    "affordable_draws",
    "has_proper_prior",
    "log_weights",
    "pareto_shape",
    "reading",
]

Floats = NDArray[np.float64]

STREAM = 3
"""Second word of the seed of the draws, after the seed of the run."""
MAX_EVALUATIONS = 10**9
"""Maximum number of losses (rows times draws) to evaluate, half a minute of one core."""
MIN_DRAWS = 1000
"""Number of draws that is kept however many rows there are."""
DRAWS_PER_BLOCK = 256
ROWS_PER_BLOCK = 2048
GOOD, USABLE = 0.5, 0.7
MIN_TAIL = 5
"""Minimum number of weights for a fit of their tail."""
EQUAL = 1e-9
"""Largest difference of log weights that counts as rounding, relative to their size."""


def affordable_draws(model: Model, draws: int) -> int:
    """Return the number of draws to use: fewer than asked for if there are many rows."""
    return min(draws, max(MIN_DRAWS, MAX_EVALUATIONS // model.n))


def log_weights(model: Model, mean: Floats, factor: Factor, *, seed: int, draws: int) -> Floats:
    """Return log p(y, theta) - log q(theta) at draws from q = N(mean, V).

    An improper prior has no density, so that its constant is left out.
    """
    rng = np.random.default_rng([seed, STREAM])
    weights = np.empty(draws)
    extra = model.multiplicity - 1
    for start in range(0, draws, DRAWS_PER_BLOCK):
        count = min(DRAWS_PER_BLOCK, draws - start)
        noise = rng.standard_normal((count, model.d))
        theta = mean + factor.whiten_transposed(noise)
        # The last coordinate of a reduced problem represents several independent ones.
        others = rng.chisquare(extra, count) if extra else np.zeros(count)
        log_q = -0.5 * (np.vecdot(noise, noise) + others) - 0.5 * float(factor.log_det())
        rest = np.zeros(count)
        if extra:
            variance = float(factor.last_variance())
            log_q -= 0.5 * extra * math.log(variance)
            rest = variance * others
        # Both densities lack the factor (2 pi)^(-d/2), which cancels.
        log_prior = _log_prior(model, theta, rest)
        weights[start : start + count] = log_prior - _losses(model, theta) - log_q
    return weights


def has_proper_prior(model: Model) -> bool:
    """Return whether the prior is a probability density, so that the evidence is defined."""
    return math.isfinite(model.prior.log_det)


def _log_prior(model: Model, theta: Floats, rest: Floats) -> Floats:
    """Return the log density of the prior at each row of `theta`, without (2 pi)^(-d/2).

    `rest` is the squared norm of the coordinates that a reduced problem leaves out.
    """
    prior = model.prior
    constant = 0.5 * prior.log_det if has_proper_prior(model) else 0.0
    # A reduced problem has an isotropic prior, whose precision is its largest eigenvalue.
    return np.asarray(constant - prior.value(theta) - 0.5 * prior.largest * rest)


def _losses(model: Model, theta: Floats) -> Floats:
    """Return -log p(y | theta) for each row of `theta`, in one pass over the training rows."""
    total = np.full(len(theta), model.n * model.loss.log_normaliser)
    for start in range(0, model.n, ROWS_PER_BLOCK):
        part = slice(start, start + ROWS_PER_BLOCK)
        predictor = theta @ model.train.x[part].T
        if model.train.offset is not None:
            predictor += model.train.offset[part]
        total += np.sum(model.loss.value_at(predictor, model.train.y[part]), axis=1)
    return total


def pareto_shape(log_weights: Floats) -> float:
    """Return k-hat: the shape of the tail of importance weights.

    The fit is that of Zhang and Stephens (2009) to the largest min(K / 5, 3 sqrt K) weights, drawn
    towards 0.5 by a weak prior. It is 0 if all weights are equal, which have no tail, and NaN if
    there are too few weights or some are not finite.
    """
    count = math.ceil(min(len(log_weights) / 5, 3 * math.sqrt(len(log_weights))))
    if count < MIN_TAIL or not np.isfinite(log_weights).all():
        return math.nan
    ordered = np.sort(log_weights)
    scaled = ordered[-count - 1 :] - ordered[-1]
    if -scaled[0] <= EQUAL * (1.0 + abs(ordered[-1])):
        return 0.0
    excess = np.exp(scaled[1:]) - math.exp(scaled[0])
    return _shrunk_shape(excess[excess > 0])


def _shrunk_shape(excess: Floats) -> float:
    """Return the shape of a generalised Pareto distribution of sorted, positive values."""
    count = len(excess)
    if count < MIN_TAIL:
        return math.nan
    candidates = 30 + math.isqrt(count)
    spread = 1.0 - np.sqrt(candidates / (np.arange(1, candidates + 1) - 0.5))
    rate = spread / (3.0 * excess[int(count / 4 + 0.5) - 1]) + 1.0 / excess[-1]
    shape = np.log1p(-rate[:, None] * excess).mean(axis=1)
    likelihood = count * (np.log(-rate / shape) - shape - 1.0)
    weight = np.exp(likelihood - likelihood.max())
    best = float(rate @ weight / weight.sum())
    estimate = float(np.log1p(-best * excess).mean())
    return (estimate * count + 5.0) / (count + 10.0)


def reading(k_hat: float) -> str:
    """Return what a value of k-hat means for estimates by importance sampling from q."""
    if math.isnan(k_hat):
        return "unknown"
    return "good" if k_hat < GOOD else "usable" if k_hat < USABLE else "unreliable"
