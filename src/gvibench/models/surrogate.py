"""Change of the objective if the expected loss were quadratic.

With the gradient g and the Hessian H of the oracle, the change from N(m, V) is
`g'dm + dm'H dm / 2 + tr(H dV) / 2 - gamma d(log det V) / 2`. It needs no pass over the data.
"""

from typing import TYPE_CHECKING

from gvibench.models.protocols import Oracle
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import Factor

if TYPE_CHECKING:
    from gvibench.models.base import Model

__all__ = ["log_det_change", "surrogate_change"]


def surrogate_change(
    model: "Model",
    mean: Array,
    factor: Factor,
    oracle: Oracle,
    new_mean: Array,
    new_factor: Factor,
) -> Array:
    """Return the change of the objective for the Hessian of an oracle."""
    moved, hessian = new_mean - mean, oracle.curvature
    quadratic = moved @ (oracle.gradient + 0.5 * (hessian @ moved))
    trace = _trace(model, new_factor, hessian)
    before = model.recall(oracle, "trace")
    trace = trace - (_trace(model, factor, hessian) if before is None else before)
    change = quadratic + 0.5 * trace + model.penalty_beyond_gradient(mean, new_mean)
    if model.gamma > 0:
        change = change - 0.5 * model.gamma * log_det_change(model, factor, new_factor)
    return change


def _trace(model: "Model", factor: Factor, hessian: Array) -> Array:
    """Return tr(HV)."""
    trace = factor.trace_with(hessian)
    if extra := model.multiplicity - 1:
        trace = trace + extra * hessian[-1, -1] * factor.last_variance()
    return trace


def log_det_change(model: "Model", factor: Factor, new_factor: Factor) -> Array:
    """Return the change of log det V."""
    change = new_factor.log_det() - factor.log_det()
    if extra := model.multiplicity - 1:
        ratio = new_factor.last_variance() / factor.last_variance()
        change = change + extra * model.backend.xp.log(ratio)
    return change
