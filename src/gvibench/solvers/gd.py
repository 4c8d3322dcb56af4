"""GD: Euclidean gradient descent in mean and covariance."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.solvers.base import Proposal, Scale, Solver, State, initial_covariance

__all__ = ["Gd"]


class Gd(Solver):
    """Gradient descent in (m, V), the geometry of black-box variational inference.

    With S = V^{-1}::

        m+ = m - rho g
        V+ = V - rho/2 (H - gamma S)

    V+ may fail to be positive definite, which ends the run as diverged.

    Slope: |g|^2 + |H - gamma S|_F^2 / 4.

    Cost: n d^2 for the variances, n d^2 for H, about 4 d^3 / 3 for the factor and the inverse of V.
    The update itself needs the inverse.
    """

    id: ClassVar[str] = "gd"
    title: ClassVar[str] = "GD"
    reference: ClassVar[str] = "Opper and Archambeau, The variational Gaussian revisited, 2009"
    supports_batching: ClassVar[bool] = True

    def init(self, model: Model, mean: Array, scale: Scale) -> State:
        covariance = initial_covariance(model.backend, model.d, scale)
        return super().init(model, mean, scale)._replace(memory=covariance)

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend = model.backend
        covariance = state.memory - 0.5 * rho * self._force(state, model)
        factor = CovarianceFactor(backend, backend.cholesky(covariance, "V"))
        mean = state.mean - rho * state.oracle.gradient
        return Proposal(mean, factor, covariance)

    def slope(self, state: State, model: Model) -> Array:
        force = self._force(state, model)
        return model.backend.row_norms(state.oracle.gradient) + 0.25 * model.square_sum(force)

    def _force(self, state: State, model: Model) -> Array:
        """Return H - gamma S."""
        force = state.oracle.curvature
        if model.gamma > 0:
            root = model.backend.invert_lower(state.factor.lower)  # V^{-1} = root' root
            force = force - model.gamma * (root.mT @ root)
        return force
