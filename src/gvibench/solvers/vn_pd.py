"""VN-PD: variational Newton with a correction that keeps the covariance positive definite."""

from typing import ClassVar, Literal

from gvibench.models.base import Model
from gvibench.numerics.gaussian import PrecisionFactor
from gvibench.solvers.base import Proposal, State
from gvibench.solvers.vn import Vn

__all__ = ["VnPd"]


class VnPd(Vn):
    """Natural-gradient descent in natural parameters with a second-order term for the precision.

    With S = V^{-1} and R = H - gamma S::

        S+ = S + rho R + rho^2/2 R V R = (S + P V P) / 2,   P = S + rho R
        m+ = m - rho S+^{-1} g

    S+ is positive definite for all step sizes and all H, which matters for losses that are not
    convex and for the piecewise bound. S+ is the Taylor polynomial of second order of `fr-r`.

    Slope: g'Vg + |C'HC - gamma I|_F^2 / 2, as for `vn`.

    Cost: as `vn`, and 2 d^3 for P V P.
    """

    id: ClassVar[str] = "vn-pd"
    title: ClassVar[str] = "VN-PD"
    reference: ClassVar[str] = (
        "Lin, Schmidt and Khan, Handling the positive-definite constraint in the Bayesian learning "
        "rule, ICML 2020"
    )
    supports_batching: ClassVar[bool] = True

    mean: Literal["old", "new"] = "new"
    """Covariance in the step of the mean: that before (`old`) or after the step (`new`)."""

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend = model.backend
        shifted = (1.0 - model.gamma * rho) * state.memory + rho * state.oracle.curvature
        root = state.factor.whiten(shifted)  # P V P = root root'
        precision = 0.5 * (state.memory + root @ root.mT)
        factor = PrecisionFactor(backend, backend.cholesky(precision, "V^-1"))
        used = factor if self.mean == "new" else state.factor
        mean = state.mean - rho * used.covariance_times(state.oracle.gradient)
        return Proposal(mean, factor, precision)
