"""The search for the optimum of a problem: Newton steps to the MAP estimate, then damped VN."""

from dataclasses import dataclass

import numpy as np

from gvibench.errors import Diverged
from gvibench.models import Model, Oracle
from gvibench.numerics import Array
from gvibench.numerics.gaussian import CovarianceFactor, Factor, PrecisionFactor

__all__ = ["collapsed", "descend", "loss_at", "maximise_posterior"]

MAX_ITERATIONS = 3000
PATIENCE = 15
"""Iterations without progress after which rounding level is reached."""
SMALLEST_STEP = 1e-8
SUFFICIENT = 0.25
"""Share of the decrease predicted by the slope that a good step achieves."""


def collapsed(model: Model) -> CovarianceFactor:
    """Return the covariance V = 0."""
    return CovarianceFactor(model.backend, np.zeros((model.d, model.d)))


def maximise_posterior(model: Model) -> tuple[Array, Oracle, int]:
    """Minimise the loss at a point (V = 0) by damped Newton steps."""
    point = collapsed(model)
    mean = np.zeros(model.d)
    oracle = model.full_oracle(mean, point, "hessian")
    value = loss_at(model, mean, oracle)
    for iteration in range(MAX_ITERATIONS):
        lower = model.backend.cholesky(oracle.curvature, "H")
        direction = PrecisionFactor(model.backend, lower).covariance_times(oracle.gradient)
        decrement = float(oracle.gradient @ direction)
        step = 1.0
        while step > SMALLEST_STEP:
            candidate = mean - step * direction
            following = model.full_oracle(candidate, point, "hessian")
            following_value = loss_at(model, candidate, following)
            if following_value <= value - 1e-4 * step * decrement:
                break
            step /= 2
        else:
            return mean, oracle, iteration  # no descent left: rounding level
        mean, oracle, value = candidate, following, following_value
        # Convergence is quadratic: the step just taken went all the way.
        if decrement <= 1e-16 * (1.0 + abs(value)):
            return mean, oracle, iteration + 1
    return mean, oracle, MAX_ITERATIONS


def loss_at(model: Model, mean: Array, oracle: Oracle) -> float:
    """Return the loss with its prior at a point (V = 0)."""
    return float(oracle.value + 0.5 * model.beta * (mean @ mean))


def descend(model: Model, mean: Array, precision: Array) -> tuple[Array, Factor, Oracle, int]:
    """Descend by damped VN; return the iterate with the smallest Fisher-Rao gradient norm."""
    factor: Factor = PrecisionFactor(model.backend, model.backend.cholesky(precision, "V^-1"))
    oracle = model.full_oracle(mean, factor, "hessian")
    value = float(model.objectives(mean, factor, oracle.value).objective)
    norm = float(model.fisher_norm(factor, oracle))
    best = (norm, mean, factor, oracle)
    waited = iteration = 0
    # A step of 1 / gamma is Newton's: V^-1 = H / gamma, m+ = m - H^-1 g.
    step = longest = 1.0 / model.gamma
    while waited < PATIENCE and iteration < MAX_ITERATIONS:
        iteration += 1
        moved = _try_step(model, mean, precision, oracle, step)
        # Close to the optimum the objective moves by less than it can be computed.
        slack = 1e-12 * (1.0 + abs(value))
        # An approximate expectation need not fit its own derivatives: less gradient counts too.
        if moved is None or not (moved.value <= value + slack or moved.norm < norm):
            step /= 2
            waited += 1 if step < SMALLEST_STEP * longest else 0
            continue
        # Along the step, the objective falls at the rate of the squared norm. Where it is not
        # convex, as with the piecewise bound, the norm may rise for many steps that do descend.
        decrease = value - moved.value
        progress = moved.norm < norm or decrease > max(slack, SUFFICIENT * step * norm**2)
        mean, precision, factor, oracle, value = moved.iterate
        norm = moved.norm
        # A full step may overshoot close to the optimum, where only the gradient shows it.
        step = min(longest, 1.2 * step) if progress else 0.5 * step
        waited = 0 if norm < best[0] or decrease > slack else waited + 1
        if norm < best[0]:
            best = (norm, mean, factor, oracle)
    return best[1], best[2], best[3], iteration


@dataclass(frozen=True)
class _Moved:
    iterate: tuple[Array, Array, Factor, Oracle, float]
    norm: float

    @property
    def value(self) -> float:
        return self.iterate[-1]


def _try_step(
    model: Model, mean: Array, precision: Array, oracle: Oracle, step: float
) -> _Moved | None:
    precision = (1.0 - step * model.gamma) * precision + step * oracle.curvature
    try:
        factor = PrecisionFactor(model.backend, model.backend.cholesky(precision, "V^-1"))
    except Diverged:
        return None
    mean = mean - step * factor.covariance_times(oracle.gradient)
    oracle = model.full_oracle(mean, factor, "hessian")
    value = float(model.objectives(mean, factor, oracle.value).objective)
    norm = float(model.fisher_norm(factor, oracle))
    return _Moved((mean, precision, factor, oracle, value), norm)
