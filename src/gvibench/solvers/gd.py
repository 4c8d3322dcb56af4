"""GD: Euclidean gradient descent in mean and covariance."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.solvers.base import Solver, State

__all__ = ["Gd"]


class Gd(Solver):
    """Gradient descent in (m, V), the geometry of black-box variational inference.

    With S = V^{-1}::

        m+ = m - rho g
        V+ = V - rho/2 (H - gamma S)

    V+ may fail to be positive definite, which ends the run as diverged.

    Cost: n d^2 for the variances, n d^2 for H, about 4 d^3 / 3 for the factor and the inverse of V.
    The update itself needs the inverse.
    """

    id: ClassVar[str] = "gd"
    title: ClassVar[str] = "GD"
    reference: ClassVar[str] = "Opper and Archambeau, The variational Gaussian revisited, 2009"
    supports_batching: ClassVar[bool] = True

    def init(self, model: Model, mean: Array, scale: float) -> State:
        backend = model.backend
        covariance = scale**2.0 * backend.identity(model.d)
        return super().init(model, mean, scale)._replace(memory=covariance)

    def step(self, state: State, model: Model, rho: float) -> State:
        backend = model.backend
        force = state.oracle.curvature
        if model.gamma > 0:
            root = backend.invert_lower(state.factor.lower)  # V^{-1} = root' root
            force = force - model.gamma * (root.mT @ root)
        covariance = state.memory - 0.5 * rho * force
        factor = CovarianceFactor(backend, backend.cholesky(covariance, "V"))
        mean = state.mean - rho * state.oracle.gradient
        return self.advance(state, model, rho, mean, factor, memory=covariance)
