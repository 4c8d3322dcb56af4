"""GD-Chol: Euclidean gradient descent in mean and Cholesky factor."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics.gaussian import CovarianceFactor, diagonal
from gvibench.solvers.base import Solver, State

__all__ = ["GdChol"]


class GdChol(Solver):
    """Gradient descent in (m, C) with V = C C' and lower triangular C.

    With low[A] the lower triangle of A::

        m+ = m - rho g
        C+ = C - rho low[H C - gamma C^{-T}]

    C^{-T} is upper triangular, so only its diagonal 1 / C_jj is needed. V stays positive definite
    for all step sizes. Sign changes on the diagonal of C do not affect V; they are counted.

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

    def step(self, state: State, model: Model, rho: float) -> State:
        backend, xp = model.backend, model.backend.xp
        old = state.factor.lower
        old_diagonal = diagonal(xp, old)
        force = backend.lower(backend.times_lower(state.oracle.curvature, old))
        if model.gamma > 0:  # at gamma = 0, V may become singular and 1 / C_jj overflow
            force = force - model.gamma_identity / old_diagonal[..., None, :]
        new = old - rho * force
        mean = state.mean - rho * state.oracle.gradient
        flips = state.sign_flips + backend.count(old_diagonal * diagonal(xp, new) < 0)
        factor = CovarianceFactor(backend, new)
        return self.advance(state, model, rho, mean, factor, sign_flips=flips)
