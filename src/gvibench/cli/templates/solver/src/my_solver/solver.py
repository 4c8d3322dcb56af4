"""The solver: options, an initial state and a step."""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.numerics import Array
from gvibench.numerics.gaussian import PrecisionFactor
from gvibench.solvers.base import Solver, State

__all__ = ["MySolver"]


class MySolver(Solver):
    """Variational Newton, as a start: replace the update by your own.

    With S = V^{-1}, g the expected gradient and H the expected Hessian::

        S+ = (1 - gamma rho) S + rho H
        m+ = m - rho S+^{-1} g
    """

    id: ClassVar[str] = "my-solver"
    title: ClassVar[str] = "MySolver"
    reference: ClassVar[str] = "you, this year"

    damping: float = 1.0
    """The step is multiplied by this."""

    def init(self, model: Model, mean: Array, scale: float) -> State:
        # What a solver carries from step to step beside the iterate is its memory.
        precision = scale**-2.0 * model.backend.identity(model.d)
        return super().init(model, mean, scale)._replace(memory=precision)

    def step(self, state: State, model: Model, rho: float) -> State:
        rho = self.damping * rho
        precision = (1.0 - model.gamma * rho) * state.memory + rho * state.oracle.curvature
        # Raises `Diverged` if there is no factor: the run then ends, with that as its reason.
        factor = PrecisionFactor(model.backend, model.backend.cholesky(precision, "V^-1"))
        mean = state.mean - rho * factor.covariance_times(state.oracle.gradient)
        return self.advance(state, model, rho, mean, factor, memory=precision)
