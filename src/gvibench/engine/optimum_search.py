"""Search for the optimum of a problem by damped VN."""

from dataclasses import dataclass

from gvibench.errors import Diverged
from gvibench.models.base import Model
from gvibench.models.protocols import Oracle
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import Factor, PrecisionFactor

__all__ = ["descend"]

MAX_ITERATIONS = 3000
PATIENCE = 15
"""Number of iterations without progress after which the search ends at rounding level."""
MIN_STEP = 1e-8
SUFFICIENT = 0.25
"""Minimum decrease of a good step, as a share of the decrease predicted by the slope."""


def descend(model: Model, mean: Array, precision: Array) -> tuple[Array, Factor, Oracle, int]:
    """Run damped VN and return the iterate with the smallest Fisher-Rao gradient norm.

    Return its mean, factor and oracle, and the number of iterations.
    """
    factor: Factor = PrecisionFactor(model.backend, model.backend.cholesky(precision, "V^-1"))
    oracle = model.full_oracle(mean, factor, "hessian")
    value = float(model.objectives(mean, factor, oracle.value).objective)
    norm = float(model.fisher_norm(factor, oracle))
    best = (norm, mean, factor, oracle)
    waited = iteration = 0
    # A step of 1 / gamma is a Newton step: V^-1 = H / gamma, m+ = m - gamma^-1 V g = m - H^-1 g.
    step = max_step = 1.0 / model.gamma
    while waited < PATIENCE and iteration < MAX_ITERATIONS:
        iteration += 1
        moved = _try_step(model, mean, precision, oracle, step)
        # Close to the optimum, the objective changes by less than its rounding error.
        slack = 1e-12 * (1.0 + abs(value))
        # The derivatives of an approximate expectation need not be consistent with its value, so
        # a smaller gradient counts as progress, too.
        if moved is None or not (moved.value <= value + slack or moved.norm < norm):
            step /= 2
            waited += 1 if step < MIN_STEP * max_step else 0
            continue
        # Along the step, the objective decreases at the rate of the squared norm. Where it is not
        # convex, as with the piecewise bound, the norm may increase during many descent steps.
        decrease = value - moved.value
        progress = moved.norm < norm or decrease > max(slack, SUFFICIENT * step * norm**2)
        mean, precision, factor, oracle, value = moved.iterate
        norm = moved.norm
        # A full step may overshoot close to the optimum, where only the gradient reveals it.
        step = min(max_step, 1.2 * step) if progress else 0.5 * step
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
