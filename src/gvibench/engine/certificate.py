"""Bound the distance of a Gaussian from the optimal objective.

Write V = C C' with a lower triangular C of positive diagonal. For a convex loss and the prior
N(0, I / beta), the objective

    L(m, C) = E f(m + C z) + beta (|m|^2 + |C|_F^2) / 2 - gamma log det C,  z ~ N(0, I),

is beta-strongly convex in (m, C): the expectation is jointly convex because m + C z is linear, and
so is -log det C. Strong convexity bounds the excess of any point by its gradient,

    L(m, C) - min L <= |grad L|^2 / (2 beta),

with grad_m = g and grad_C = low[(H - gamma V^{-1}) C] = low[H C] - gamma diag(1 / C_ii), where g
and H are the expected gradient and Hessian. The bound is as accurate as the computed g and H: it
does not include rounding errors and the errors of tabulated expectations (below 1e-11 per row).
"""

import math

import numpy as np

from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.spec.run import ProblemSpec

__all__ = ["certificate", "excess_bound", "no_certificate"]


def excess_bound(model: Model, mean: Array, lower: Array) -> float:
    """Return a bound on L(m, C) - min L in nats.

    Parameters
    ----------
    model
        Convex model with exact expectations, beta > 0, gamma > 0 and the prior N(0, I / beta).
    mean
        Mean m.
    lower
        Lower triangular C with a positive diagonal and C C' = V.
    """
    oracle = model.full_oracle(mean, CovarianceFactor(model.backend, lower), "hessian")
    in_factor = np.tril(oracle.curvature @ lower) - model.gamma * np.diag(1.0 / np.diag(lower))
    square = np.sum(oracle.gradient**2) + np.sum(in_factor**2)
    return float(square) / (2.0 * model.beta)


def no_certificate(spec: ProblemSpec, model: Model) -> str:
    """Return the reason why strong convexity gives no bound for a problem, or empty text."""
    if not model.convex:
        return f"model '{spec.model}' is not convex"
    if spec.expectation not in {"exact", "stochastic"}:  # the latter has an exact optimum
        return f"expectation '{spec.expectation}' is approximate"
    if not spec.gamma > 0:
        return "gamma is 0"
    if not model.prior.is_isotropic:
        return "the prior is not N(0, I / beta)"
    if not spec.beta > 0:
        return "beta is 0"
    if model.multiplicity > 1:
        return "there are more features than rows"
    return ""


def certificate(
    spec: ProblemSpec, model: Model, mean: Array, lower: Array | None
) -> dict[str, float | str]:
    """Return the attributes `certificate`, the bound in nats, and `certificate_reason`.

    The bound is NaN if there is none. The reason is then a phrase, and empty text otherwise.
    """
    reason = no_certificate(spec, model)
    if not reason and lower is None:
        reason = "the covariance factor is not stored"
    bound = math.nan if reason or lower is None else excess_bound(model, mean, lower)
    return {"certificate": bound, "certificate_reason": reason}
