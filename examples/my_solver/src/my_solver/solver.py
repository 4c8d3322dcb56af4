"""Variational Newton with a line search, which needs no step to be tuned."""

from typing import Annotated, ClassVar

from pydantic import Field

from gvibench.errors import Diverged
from gvibench.models.base import Model
from gvibench.solvers.base import State
from gvibench.solvers.vn import Vn

__all__ = ["MySolver"]


class MySolver(Vn):
    """Variational Newton that halves a step until the objective falls enough.

    A step of VN has the slope -|grad|^2, the squared Fisher-Rao norm of the gradient, so Armijo's
    rule asks for objective+ <= objective - armijo rho |grad|^2. A step that leaves the positive
    definite matrices is too long as well. Where no step will do, which happens at rounding level,
    the iterate stays. Draws differ from step to step, so stochastic runs are not searched.

    Cost: that of VN for every step tried.
    """

    id: ClassVar[str] = "my-solver"
    title: ClassVar[str] = "Damped VN"
    reference: ClassVar[str] = (
        "Armijo, Minimization of functions having Lipschitz derivatives, 1966"
    )
    adaptive: ClassVar[bool] = True

    armijo: Annotated[float, Field(ge=0, lt=1)] = 1e-4
    """The share of the decrease promised by the slope that a step must bring."""
    halvings: Annotated[int, Field(ge=0)] = 20
    """How often a step is halved before the iterate stays where it is."""

    def step(self, state: State, model: Model, rho: float) -> State:
        if model.sampling is not None:
            return super().step(state, model, rho)
        before = _objective(model, state)
        slope = float(model.fisher_norm(state.factor, state.oracle)) ** 2
        for tried in range(1, self.halvings + 2):
            try:
                following = super().step(state, model, rho)
            except Diverged:
                after = float("inf")
            else:
                after = _objective(model, following)
            if after <= before - self.armijo * rho * slope:
                return following._replace(evaluations=state.evaluations + tried)
            rho *= 0.5
        return state._replace(
            iteration=state.iteration + 1, evaluations=state.evaluations + self.halvings + 1
        )


def _objective(model: Model, state: State) -> float:
    return float(model.objectives(state.mean, state.factor, state.oracle.value).objective)
