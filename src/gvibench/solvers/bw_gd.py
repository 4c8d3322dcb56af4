"""BW-GD: gradient descent in the Bures-Wasserstein geometry."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.solvers.base import Solver, State

__all__ = ["BwGd"]


class BwGd(Solver):
    """Gradient descent on the Bures-Wasserstein manifold of Gaussians.

    With S = V^{-1}::

        m+ = m - a g
        V+ = M V M,  M = I - a (H - gamma S)

    M V M is never formed. With V = L L', M L = L - a (H L - gamma L^{-T}) is a square root of V+,
    and a QR decomposition makes it triangular again. V stays positive definite for all step sizes.

    Cost: n d^2 for the variances, n d^2 for H, about 8 d^3 / 3 for the update.
    """

    id: ClassVar[str] = "bw-gd"
    title: ClassVar[str] = "BW-GD"
    reference: ClassVar[str] = (
        "Lambert, Chewi, Bach, Bonnabel and Rigollet, Variational inference via Wasserstein "
        "gradient flows, NeurIPS 2022"
    )
    supports_batching: ClassVar[bool] = True

    def step(self, state: State, model: Model, rho: float) -> State:
        backend = model.backend
        lower = state.factor.lower
        force = backend.times_lower(state.oracle.curvature, lower)
        if model.gamma > 0:  # at gamma = 0, V may become singular and have no inverse
            force = force - model.gamma * backend.invert_lower(lower).mT
        factor = CovarianceFactor(backend, backend.triangularise(lower - rho * force))
        mean = state.mean - rho * state.oracle.gradient
        return self.advance(state, model, rho, mean, factor)
