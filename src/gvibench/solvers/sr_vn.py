"""SR-VN: the square-root variational Newton method, natural gradient in a Cholesky factor."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.models.protocols import Curvature
from gvibench.numerics.gaussian import CovarianceFactor, diagonal
from gvibench.solvers.base import Solver, State

__all__ = ["SrVn"]


class SrVn(Solver):
    """Natural-gradient descent in the Cholesky factor of the covariance.

    With V = C C' and tril½ the strict lower triangle plus half the diagonal::

        C+ = C - rho C tril½[C'HC - gamma I]
        m+ = m - rho C C' g             (the old C)

    V stays positive definite for all step sizes. A diagonal entry of C changes its sign if
    rho ((C'HC)_jj - gamma) > 2. Sign changes do not affect V; they are counted.

    Cost: n d^2 for XC (triangular product), n d^2 for C'HC and d^3 / 3 for the update. C'HC is
    computed from XC, so H is never formed.
    """

    id: ClassVar[str] = "sr-vn"
    title: ClassVar[str] = "SR-VN"
    reference: ClassVar[str] = (
        "Kumar, Möllenhoff, Khan and Lucchi, Optimization guarantees for square-root "
        "natural-gradient variational inference, TMLR 2025"
    )
    curvature: ClassVar[Curvature] = "whitened"
    supports_batching: ClassVar[bool] = True

    @property
    def rotation_invariant(self) -> bool:
        return False

    def step(self, state: State, model: Model, rho: float) -> State:
        backend, xp = model.backend, model.backend.xp
        old = state.factor.lower
        residual = state.oracle.curvature - model.gamma_identity
        new = old - rho * backend.lower_times_lower(old, backend.half_lower(residual))
        mean = state.mean - rho * state.factor.covariance_times(state.oracle.gradient)
        flipped = diagonal(xp, old) * diagonal(xp, new) < 0
        flips = state.sign_flips + backend.count(flipped)
        return self.advance(
            state, model, rho, mean, CovarianceFactor(backend, new), sign_flips=flips
        )
