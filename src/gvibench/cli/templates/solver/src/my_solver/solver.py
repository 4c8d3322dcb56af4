"""Define the solver: its options, its initial state, its step and its slope."""

from typing import ClassVar

from gvibench.plugin import (
    Array,
    Model,
    PrecisionFactor,
    Proposal,
    Scale,
    Solver,
    State,
    initial_precision,
)

__all__ = ["MySolver"]


class MySolver(Solver):
    """Variational Newton, as a starting point: replace the update with your own.

    With S = V^{-1}, g the expected gradient and H the expected Hessian::

        S+ = (1 - gamma rho) S + rho H
        m+ = m - rho S+^{-1} g
    """

    id: ClassVar[str] = "my-solver"
    title: ClassVar[str] = "MySolver"
    reference: ClassVar[str] = "your paper"

    damping: float = 1.0
    """Factor by which the step is multiplied."""

    def init(self, model: Model, mean: Array, scale: Scale) -> State:
        # State.memory holds what a solver keeps between steps in addition to the iterate.
        precision = initial_precision(model.backend, model.d, scale)
        return super().init(model, mean, scale)._replace(memory=precision)

    def propose(self, state: State, model: Model, rho: float) -> Proposal:
        rho = self.damping * rho
        precision = (1.0 - model.gamma * rho) * state.memory + rho * state.oracle.curvature
        # Raises Diverged if the matrix is not positive definite. The run then ends as diverged.
        factor = PrecisionFactor(model.backend, model.backend.cholesky(precision, "V^-1"))
        mean = state.mean - rho * factor.covariance_times(state.oracle.gradient)
        return Proposal(mean, factor, precision)

    def slope(self, state: State, model: Model) -> Array:
        # Needed for the step rule `auto`: -dL/drho at rho = 0, here the squared gradient norm.
        return self.damping * model.fisher_norm(state.factor, state.oracle) ** 2
