"""Interface of step rules, which choose the size of each step of a solver."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from gvibench.solvers.base import Solver, State
from gvibench.spec.fields import Positive

if TYPE_CHECKING:
    from gvibench.models.base import Model

__all__ = ["StepRule"]


@dataclass_transform(kw_only_default=True, frozen_default=True)
class StepRule:
    """Base class of step rules. Annotated fields of a subclass are its settings.

    Each subclass becomes a frozen dataclass. A rule has no state of its own. What it needs at the
    next iteration belongs to `State.search`, which checkpoints contain.
    """

    id: ClassVar[str]
    searches: ClassVar[bool] = False
    """Whether the rule evaluates the model at trial steps. It then needs the slope of the solver
    and deterministic expectations, and it has no step size to tune."""

    step: Positive = 1.0
    """Step size. A rule that searches tries this one first."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, kw_only=True)(cls)

    def advance(self, solver: Solver, state: State, model: "Model") -> State:
        """Return the state after one step of the solver.

        Raise `Diverged` if the step is not defined, and `Stopped` if there is no further step.
        """
        raise NotImplementedError


dataclass(frozen=True, kw_only=True)(StepRule)
