"""Step sizes that decay with the number of iterations."""

from typing import TYPE_CHECKING, ClassVar

from gvibench.solvers.base import Solver, State
from gvibench.spec.fields import Positive
from gvibench.steps.base import StepRule

if TYPE_CHECKING:
    from gvibench.models.base import Model

__all__ = ["Decay"]


class Decay(StepRule):
    """Divide the step size by 1 + decay * k at iteration k."""

    id: ClassVar[str] = "decay"

    decay: Positive
    """Rate of the decay: iteration k uses `step / (1 + decay * k)`."""

    def advance(self, solver: Solver, state: State, model: "Model") -> State:
        return solver.step(state, model, self.step / (1.0 + self.decay * state.iteration))
