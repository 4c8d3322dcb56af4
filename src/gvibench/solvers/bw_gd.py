"""BW-GD: gradient descent in the Bures-Wasserstein geometry."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.solvers.base import Proposal, Solver, State

__all__ = ["BwGd", "bures_wasserstein_slope"]


class BwGd(Solver):
    """Gradient descent on the Bures-Wasserstein manifold of Gaussians.

    With S = V^{-1}::

        m+ = m - a g
        V+ = M V M,  M = I - a (H - gamma S)

    M V M is never formed. With V = L L', M L = L - a (H L - gamma L^{-T}) is a square root of V+,
    and a QR decomposition makes it triangular again. V stays positive definite for all step sizes.

    Slope: |g|^2 + |H L - gamma L^{-T}|_F^2.

    Cost: n d^2 for the variances, n d^2 for H, about 8 d^3 / 3 for the update.
    """

    id: ClassVar[str] = "bw-gd"
    title: ClassVar[str] = "BW-GD"
    reference: ClassVar[str] = (
        "Lambert, Chewi, Bach, Bonnabel and Rigollet, Variational inference via Wasserstein "
        "gradient flows, NeurIPS 2022"
    )
    supports_batching: ClassVar[bool] = True

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend = model.backend
        root = state.factor.lower - rho * bures_wasserstein_force(state, model)
        mean = state.mean - rho * state.oracle.gradient
        return Proposal(mean, CovarianceFactor(backend, backend.triangularise(root)))

    def slope(self, state: State, model: Model) -> Array:
        return bures_wasserstein_slope(state, model)


def bures_wasserstein_force(state: State, model: Model) -> Array:
    """Return H L - gamma L^{-T}, the gradient with respect to a root L of V."""
    known = model.recall(state.oracle, "force")
    if known is not None:
        return known
    curved = model.backend.times_lower(state.oracle.curvature, state.factor.lower)
    return _less_entropy(curved, state, model)


def _less_entropy(curved: Array, state: State, model: Model) -> Array:
    """Subtract gamma L^{-T}."""
    if model.gamma > 0:  # at gamma = 0, V may become singular and have no inverse
        return curved - model.gamma * model.backend.invert_lower(state.factor.lower).mT
    return curved


def bures_wasserstein_slope(state: State, model: Model) -> Array:
    """Return |g|^2 + |H L - gamma L^{-T}|_F^2, and remember the force and tr(HV)."""
    lower = state.factor.lower
    curved = model.backend.times_lower(state.oracle.curvature, lower)
    force = _less_entropy(curved, state, model)
    model.remember(state.oracle, "force", force)
    model.remember(state.oracle, "trace", model.trace_of_product(curved, lower))
    return model.backend.row_norms(state.oracle.gradient) + model.square_sum(force)
