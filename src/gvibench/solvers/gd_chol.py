"""GD-Chol: Euclidean gradient descent in mean and Cholesky factor."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor, diagonal
from gvibench.solvers.base import Proposal, Solver, State

__all__ = ["GdChol"]


class GdChol(Solver):
    """Gradient descent in (m, C) with V = C C' and lower triangular C.

    With low[A] the lower triangle of A::

        m+ = m - rho g
        C+ = C - rho low[H C - gamma C^{-T}]

    C^{-T} is upper triangular, so only its diagonal 1 / C_jj is needed. V stays positive definite
    for all step sizes. Sign changes on the diagonal of C do not affect V; they are counted.

    Slope: |g|^2 + |low[H C - gamma C^{-T}]|_F^2.

    Cost: n d^2 for XC, n d^2 for H, d^3 for the update.
    """

    id: ClassVar[str] = "gd-chol"
    title: ClassVar[str] = "GD-Chol"
    reference: ClassVar[str] = (
        "Challis and Barber, Gaussian Kullback-Leibler approximate inference, JMLR 2013"
    )
    supports_batching: ClassVar[bool] = True

    @property
    def rotation_invariant(self) -> bool:
        return False

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend, xp = model.backend, model.backend.xp
        old = state.factor.lower
        new = old - rho * self._force(state, model)
        mean = state.mean - rho * state.oracle.gradient
        flips = backend.count(diagonal(xp, old) * diagonal(xp, new) < 0)
        return Proposal(mean, CovarianceFactor(backend, new), sign_flips=flips)

    def slope(self, state: State, model: Model) -> Array:
        force = self._force(state, model)
        return model.backend.row_norms(state.oracle.gradient) + model.square_sum(force)

    def _force(self, state: State, model: Model) -> Array:
        """Return low[H C - gamma C^{-T}]."""
        backend, lower = model.backend, state.factor.lower
        force = backend.lower(backend.times_lower(state.oracle.curvature, lower))
        if model.gamma > 0:  # at gamma = 0, V may become singular and 1 / C_jj overflow
            force = force - model.gamma_identity / diagonal(backend.xp, lower)[..., None, :]
        return force
