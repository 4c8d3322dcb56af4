"""SVGD-density: Stein variational gradient descent on Gaussian densities."""

from typing import ClassVar, Literal

from gvibench.models.base import Model
from gvibench.numerics.base import Array
from gvibench.numerics.gaussian import CovarianceFactor, times
from gvibench.solvers.base import Proposal, Solver, State

__all__ = ["SvgdDensity"]


class SvgdDensity(Solver):
    """Mean-field limit of SVGD with a bilinear kernel, which keeps the density Gaussian.

    Kernel x'y + 1 (`linear`)::

        m+ = m + r [(gamma I - H V) m - (1 + m'm) g]
        V+ = M V M',  M = I + r (gamma I - H V - g m')

    Kernel (x - m)'(y - m) + 1 (`centred`)::

        m+ = m - r g
        V+ = M V M',  M = I + r (gamma I - H V)

    With V = L L', M L is a square root of V+, and a QR decomposition makes it triangular again. V
    stays positive definite for all step sizes.

    Slope: |g|^2 + |HV - gamma I + g m'|_F^2 (`linear`) or |g|^2 + |HV - gamma I|_F^2 (`centred`).

    Cost: n d^2 for the variances, n d^2 for H, about 13 d^3 / 3 for the update.
    """

    id: ClassVar[str] = "svgd-density"
    title: ClassVar[str] = "SVGD"
    reference: ClassVar[str] = (
        "Liu, Ghosal, Balasubramanian and Pillai, Towards understanding the dynamics of "
        "Gaussian-Stein variational gradient descent, NeurIPS 2023"
    )
    supports_batching: ClassVar[bool] = True

    kernel: Literal["linear", "centred"] = "linear"
    """Kernel: `linear` is x'y + 1, `centred` is (x - m)'(y - m) + 1."""

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        backend = model.backend
        mean, lower, gradient = state.mean, state.factor.lower, state.oracle.gradient
        curved = self._curved(state, model)
        force = model.gamma * lower - backend.times_lower(curved, lower)  # (gamma I - HV) L
        if self.kernel == "linear":
            force = force - gradient[..., :, None] * times(lower.mT, mean)[..., None, :]
            pull = 1.0 + backend.row_norms(mean)[..., None]
            velocity = model.gamma * mean - times(curved, mean) - pull * gradient
        else:
            velocity = -gradient
        factor = CovarianceFactor(backend, backend.triangularise(lower + rho * force))
        return Proposal(mean + rho * velocity, factor)

    def slope(self, state: State, model: Model) -> Array:
        gradient = state.oracle.gradient
        force = self._curved(state, model) - model.gamma_identity
        if self.kernel == "linear":
            force = force + gradient[..., :, None] * state.mean[..., None, :]
        return model.backend.row_norms(gradient) + model.square_sum(force)

    def _curved(self, state: State, model: Model) -> Array:
        """Return H V."""
        backend, lower = model.backend, state.factor.lower
        return backend.times_lower_t(backend.times_lower(state.oracle.curvature, lower), lower)
