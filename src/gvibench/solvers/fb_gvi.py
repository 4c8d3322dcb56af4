"""FB-GVI: forward-backward descent in the Bures-Wasserstein geometry."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.solvers.base import Proposal, Solver, State
from gvibench.solvers.bw_gd import bures_wasserstein_slope

__all__ = ["FbGvi"]


class FbGvi(Solver):
    """Gradient step on the expected loss, followed by the exact proximal step of the entropy.

    ::

        m+ = m - a g
        W  = (I - a H) V (I - a H)
        V+ = (W + 2 a gamma I + (W (W + 4 a gamma I))^{1/2}) / 2

    V+ has the eigenvectors of W, so one eigendecomposition is enough. V stays positive definite for
    all step sizes if gamma > 0.

    Slope: |g|^2 + |H L - gamma L^{-T}|_F^2 with V = L L', as for `bw-gd`.

    Cost: n d^2 for the variances, n d^2 for H, about 10 d^3 for the update.
    """

    id: ClassVar[str] = "fb-gvi"
    title: ClassVar[str] = "FB-GVI"
    reference: ClassVar[str] = (
        "Diao, Balasubramanian, Chewi and Salim, Forward-backward Gaussian variational inference "
        "via JKO in the Bures-Wasserstein space, ICML 2023"
    )
    supports_batching: ClassVar[bool] = True

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend, xp = model.backend, model.backend.xp
        lower = state.factor.lower
        root = lower - rho * backend.times_lower(state.oracle.curvature, lower)
        values, vectors = backend.eigh(root @ root.mT)
        values = xp.maximum(values, 0.0)  # rounding can make a zero eigenvalue negative
        heat = rho * model.gamma
        values = 0.5 * (values + 2.0 * heat + xp.sqrt(values * (values + 4.0 * heat)))
        root = vectors * xp.sqrt(values)[..., None, :]
        factor = CovarianceFactor(backend, backend.triangularise(root))
        mean = state.mean - rho * state.oracle.gradient
        return Proposal(mean, factor)

    def slope(self, state: State, model: Model) -> Array:
        return bures_wasserstein_slope(state, model)
