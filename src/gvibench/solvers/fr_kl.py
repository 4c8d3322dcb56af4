"""FR-KL: Fisher-Rao descent that is implicit in the entropy."""

from typing import ClassVar, Literal

from gvibench.models.base import Model
from gvibench.numerics.gaussian import PrecisionFactor
from gvibench.solvers.base import Proposal, State
from gvibench.solvers.vn import Vn

__all__ = ["FrKl"]


class FrKl(Vn):
    """Proximal natural-gradient descent with the Kullback-Leibler divergence as distance.

    With S = V^{-1}::

        S+ = (S + rho H) / (1 + gamma rho)
        m+ = m - rho V g

    S+ is that of `vn` with the step size rho / (1 + gamma rho); only the mean differs. V stays
    positive definite for all step sizes if H is positive semi-definite.

    Slope: g'Vg + |C'HC - gamma I|_F^2 / 2, as for `vn`.

    Cost: as `vn`.
    """

    id: ClassVar[str] = "fr-kl"
    title: ClassVar[str] = "FR-KL"
    reference: ClassVar[str] = (
        "Gaussian variational inference via Fisher-Rao gradient flows, manuscript with code in "
        "zheyuanlai/gvi-fisher-rao, 2026"
    )
    supports_batching: ClassVar[bool] = True

    mean: Literal["old", "new"] = "old"
    """Covariance in the step of the mean: that before (`old`) or after the step (`new`)."""

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend = model.backend
        precision = (state.memory + rho * state.oracle.curvature) / (1.0 + model.gamma * rho)
        factor = PrecisionFactor(backend, backend.cholesky(precision, "V^-1"))
        used = factor if self.mean == "new" else state.factor
        mean = state.mean - rho * used.covariance_times(state.oracle.gradient)
        return Proposal(mean, factor, precision)
