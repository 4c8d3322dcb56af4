"""FR-R: Fisher-Rao descent along geodesics of the covariance."""

from typing import ClassVar, Literal

from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor, times
from gvibench.solvers.base import Proposal, Solver, State

__all__ = ["FrR"]


class FrR(Solver):
    """Riemannian descent with the exponential map of the affine-invariant metric on V.

    With V = C C'::

        V+ = C exp(-rho (C'HC - gamma I)) C'
        m+ = m - rho V g

    The mean moves separately, so that the step is a retraction and not a geodesic of the Gaussians.
    V stays positive definite for all step sizes.

    Slope: g'Vg + |C'HC - gamma I|_F^2 / 2, the squared Fisher-Rao norm of the gradient.

    Cost: n d^2 for the variances, n d^2 for H, about 12 d^3 for the eigendecomposition and the
    update.
    """

    id: ClassVar[str] = "fr-r"
    title: ClassVar[str] = "FR-R"
    reference: ClassVar[str] = (
        "Gaussian variational inference via Fisher-Rao gradient flows, manuscript with code in "
        "zheyuanlai/gvi-fisher-rao, 2026"
    )
    supports_batching: ClassVar[bool] = True
    fisher_rao: ClassVar[bool] = True

    mean: Literal["old", "new"] = "old"
    """Covariance in the step of the mean: that before (`old`) or after the step (`new`)."""

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend, xp = model.backend, model.backend.xp
        lower = state.factor.lower
        residual = state.factor.congruence(state.oracle.curvature) - model.gamma_identity
        values, vectors = backend.eigh(residual)
        root = (lower @ vectors) * xp.exp(-0.5 * rho * values)[..., None, :]
        used = root if self.mean == "new" else lower
        mean = state.mean - rho * times(used, times(used.mT, state.oracle.gradient))
        return Proposal(mean, CovarianceFactor(backend, backend.triangularise(root)))

    def slope(self, state: State, model: Model) -> Array:
        return model.fisher_slope(state.factor, state.oracle)
