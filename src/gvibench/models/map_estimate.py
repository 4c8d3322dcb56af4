"""Find the MAP estimate of a model by damped Newton steps."""

from typing import NamedTuple

from gvibench.models.base import Model
from gvibench.models.protocols import Oracle
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor, PrecisionFactor

__all__ = ["MapEstimate", "collapsed", "loss_at", "maximise_posterior"]

MAX_ITERATIONS = 3000
MIN_STEP = 1e-8


class MapEstimate(NamedTuple):
    """Mode of a posterior."""

    mean: Array
    oracle: Oracle
    """Oracle at the mode with V = 0."""
    iterations: int
    """Number of Newton steps."""
    evaluations: int
    """Number of model evaluations, those of rejected steps included."""


def collapsed(model: Model) -> CovarianceFactor:
    """Return the covariance V = 0."""
    zeros = model.backend.xp.zeros((model.d, model.d), dtype=model.backend.dtype)
    return CovarianceFactor(model.backend, zeros)


def maximise_posterior(model: Model, start: Array) -> MapEstimate:
    """Find the MAP estimate, which minimises the loss at a point, by damped Newton steps."""
    point = collapsed(model)
    mean = start
    oracle = model.full_oracle(mean, point, "hessian")
    value, evaluations = loss_at(model, mean, oracle), 1
    for iteration in range(MAX_ITERATIONS):
        lower = model.backend.cholesky(oracle.curvature, "H")
        direction = PrecisionFactor(model.backend, lower).covariance_times(oracle.gradient)
        decrement = float(oracle.gradient @ direction)
        step = 1.0
        while step > MIN_STEP:
            candidate = mean - step * direction
            candidate_oracle = model.full_oracle(candidate, point, "hessian")
            candidate_value = loss_at(model, candidate, candidate_oracle)
            evaluations += 1
            if candidate_value <= value - 1e-4 * step * decrement:
                break
            step /= 2
        else:  # no step decreases the loss: rounding level
            return MapEstimate(mean, oracle, iteration, evaluations)
        mean, oracle, value = candidate, candidate_oracle, candidate_value
        # Convergence is quadratic, so the step just taken has reached rounding level.
        if decrement <= 1e-16 * (1.0 + abs(value)):
            return MapEstimate(mean, oracle, iteration + 1, evaluations)
    return MapEstimate(mean, oracle, MAX_ITERATIONS, evaluations)


def loss_at(model: Model, mean: Array, oracle: Oracle) -> float:
    """Return the loss with its prior at a point (V = 0)."""
    return float(oracle.value + model.prior.value(mean))
