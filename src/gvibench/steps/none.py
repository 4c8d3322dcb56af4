"""Rule for solvers without a step size."""

from typing import TYPE_CHECKING, ClassVar

from gvibench.solvers.base import Solver, State
from gvibench.steps.base import StepRule

if TYPE_CHECKING:
    from gvibench.models.base import Model

__all__ = ["NoStep"]


class NoStep(StepRule):
    """Run a solver that has no step size."""

    id: ClassVar[str] = "none"

    def advance(self, solver: Solver, state: State, model: "Model") -> State:
        return solver.step(state, model, self.step)
