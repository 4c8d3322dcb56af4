"""Constant step sizes."""

from typing import TYPE_CHECKING, ClassVar

from gvibench.solvers.base import Solver, State
from gvibench.steps.base import StepRule

if TYPE_CHECKING:
    from gvibench.models.base import Model

__all__ = ["Constant"]


class Constant(StepRule):
    """Use the same step size at each iteration."""

    id: ClassVar[str] = "constant"

    def advance(self, solver: Solver, state: State, model: "Model") -> State:
        return solver.step(state, model, self.step)
