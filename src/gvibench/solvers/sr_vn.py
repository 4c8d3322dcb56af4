"""SR-VN: the square-root variational Newton method, natural gradient in a Cholesky factor."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.models.protocols import Curvature
from gvibench.models.surrogate import log_det_change
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor, diagonal
from gvibench.solvers.base import Proposal, Solver, State

__all__ = ["SrVn"]


class SrVn(Solver):
    """Natural-gradient descent in the Cholesky factor of the covariance.

    With V = C C' and tril½ the strict lower triangle plus half the diagonal::

        C+ = C - rho C tril½[C'HC - gamma I]
        m+ = m - rho C C' g             (the old C)

    V stays positive definite for all step sizes. A diagonal entry of C changes its sign if
    rho ((C'HC)_jj - gamma) > 2. Sign changes do not affect V; they are counted.

    Slope: g'Vg + |C'HC - gamma I|_F^2 / 2, the squared Fisher-Rao norm of the gradient.

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
    fisher_rao: ClassVar[bool] = True

    @property
    def rotation_invariant(self) -> bool:
        return False

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend, xp = model.backend, model.backend.xp
        old = state.factor.lower
        residual = state.oracle.curvature - model.gamma_identity
        new = old - rho * backend.lower_times_lower(old, backend.half_lower(residual))
        mean = state.mean - rho * state.factor.covariance_times(state.oracle.gradient)
        flips = backend.count(diagonal(xp, old) * diagonal(xp, new) < 0)
        return Proposal(mean, CovarianceFactor(backend, new), sign_flips=flips)

    def slope(self, state: State, model: Model) -> Array:
        return model.fisher_slope(state.factor, state.oracle)

    def surrogate(self, state: State, model: Model, proposal: Proposal, rho: float) -> Array:
        # H is not available, but with C+ = C T everything follows from u = C'g and K = C'HC.
        backend, white = model.backend, state.oracle.curvature
        pull = state.factor.lower.mT @ state.oracle.gradient
        factor = backend.identity(model.d) - rho * backend.half_lower(white - model.gamma_identity)
        trace = model.trace_of_product(backend.times_lower(white, factor), factor)
        before = model.recall(state.oracle, "trace")
        trace = trace - (model.total(diagonal(backend.xp, white)) if before is None else before)
        change = rho * (pull @ (0.5 * rho * (white @ pull) - pull)) + 0.5 * trace
        if model.gamma > 0:
            log_det = log_det_change(model, state.factor, proposal.factor)
            change = change - 0.5 * model.gamma * log_det
        return change + model.penalty_beyond_gradient(state.mean, proposal.mean)
