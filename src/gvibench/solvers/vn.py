"""VN: the variational Newton method, natural gradient in natural parameters."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import PrecisionFactor
from gvibench.solvers.base import Proposal, Scale, Solver, State, initial_precision

__all__ = ["Vn"]


class Vn(Solver):
    """Natural-gradient descent in the natural parameters of the Gaussian.

    With S = V^{-1}::

        S+ = (1 - gamma rho) S + rho H
        m+ = m - rho S+^{-1} g          (the new S)

    For a linear model and gamma = 1, one step with rho = 1 reaches the optimum. With expectations
    evaluated at the mean, the update is Newton's method. S+ may fail to be positive definite, which
    ends the run as diverged.

    Slope: g'Vg + |C'HC - gamma I|_F^2 / 2, the squared Fisher-Rao norm of the gradient.

    Cost: n d^2 for the variances, n d^2 for H, 2 d^3 / 3 for the Cholesky factor of S and the
    inverse of the factor.
    """

    id: ClassVar[str] = "vn"
    title: ClassVar[str] = "VN"
    reference: ClassVar[str] = "Khan and Rue, The Bayesian learning rule, JMLR 2023"
    supports_batching: ClassVar[bool] = True
    fisher_rao: ClassVar[bool] = True

    def init(self, model: Model, mean: Array, scale: Scale) -> State:
        precision = initial_precision(model.backend, model.d, scale)
        return super().init(model, mean, scale)._replace(memory=precision)

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend = model.backend
        precision = (1.0 - model.gamma * rho) * state.memory + rho * state.oracle.curvature
        factor = PrecisionFactor(backend, backend.cholesky(precision, "V^-1"))
        mean = state.mean - rho * factor.covariance_times(state.oracle.gradient)
        return Proposal(mean, factor, precision)

    def slope(self, state: State, model: Model) -> Array:
        return model.fisher_slope(state.factor, state.oracle)
