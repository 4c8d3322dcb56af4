"""Automatic step sizes: a line search that rules out most bad steps without a pass over the data.

A step of size rho should decrease the objective L by at least `c * rho * slope` (Armijo), where
`slope` is -dL/drho at rho = 0. Before the model is evaluated, a trial step must satisfy the same
condition with the quadratic model of the expected loss, which costs O(d^3). Trial steps that fail
are halved. After a first trial that succeeds, the next search starts with twice the step size.

Close to the optimum, rounding errors hide the decrease. There, a step may instead reduce the slope.
If the slope is too small to be visible in the objective, a step must halve it, so that a run ends
and does not take steps at rounding level until its budget is used.
"""

import math
from typing import TYPE_CHECKING, Annotated, ClassVar

from gvibench.errors import Diverged, Stopped
from gvibench.models.protocols import Objectives
from gvibench.solvers.base import Search, Solver, State
from gvibench.spec.fields import Range
from gvibench.steps.base import StepRule

if TYPE_CHECKING:
    from gvibench.models.base import Model

__all__ = ["Auto"]

MIN_STEP = 1e-14
"""Step size below which the search ends."""
ROUNDING = 1e-11
"""Relative increase of an objective that counts as rounding if the slope does not increase."""
CONVERGED_SLOPE = 1e-10
"""Slope, relative to the size of the objective, below which a search fails because of rounding."""

Share = Annotated[float, Range(gt=0, lt=1)]


class Auto(StepRule):
    """Choose each step by a screened Armijo search."""

    id: ClassVar[str] = "auto"
    searches: ClassVar[bool] = True

    decrease: Share = 1e-4
    """Share of the decrease predicted by the slope that a step must achieve."""
    shrink: Share = 0.5
    """Factor for the step size after a trial that fails."""
    grow: Annotated[float, Range(ge=1, le=1e6)] = 2.0
    """Factor for the next step size after a first trial that succeeds."""

    def advance(self, solver: Solver, state: State, model: "Model") -> State:
        search = state.search or Search(min(self.step, _largest_step(solver, model)), 0.0)
        objectives = search.objectives
        if objectives is None:  # at the start of a run, or after resuming it
            objectives = _objectives(state, model)
            # Computing the slope also lets the model remember quantities that a search uses.
            search = search._replace(slope=float(solver.slope(state, model)))
        objective = float(objectives.objective)
        size = 1.0 + abs(objective)
        increase = _rounding(model) * size
        # Objectives do not show decreases below `epsilon * size`, but may go up and down by more.
        is_visible = search.slope > _epsilon(model) * size
        smaller_slope = search.slope if is_visible else 0.5 * search.slope
        rho, is_first, evaluations = search.step, True, 0
        rejected, screened, indefinite = search.counts
        while rho >= MIN_STEP:
            required = self.decrease * rho * search.slope
            try:
                proposal = solver.propose(state, model, rho)
                # Written so that NaN fails.
                promising = -float(solver.surrogate(state, model, proposal, rho)) >= required
                screened += not promising
            except Diverged:
                promising = False
                indefinite += 1
            if promising:
                evaluations += 1
                new = solver.advance(state, model, rho, proposal, evaluations)
                reached = _objectives(new, model)
                value = float(reached.objective)
                if value <= objective + increase:
                    slope = float(solver.slope(new, model))
                    if (is_visible and value <= objective - required) or slope <= smaller_slope:
                        following = self._next_step(rho, solver, model) if is_first else rho
                        counts = rejected, screened, indefinite
                        return new._replace(search=Search(following, slope, *counts, reached))
                rejected += 1
            rho, is_first = self.shrink * rho, False
        raise self._stopped(search.slope, size, model)

    def _next_step(self, rho: float, solver: Solver, model: "Model") -> float:
        return min(self.grow * rho, _largest_step(solver, model))

    def _stopped(self, slope: float, size: float, model: "Model") -> Stopped:
        tolerance = max(CONVERGED_SLOPE, _epsilon(model)) * size
        if slope <= tolerance:
            return Stopped("converged to rounding")
        return Stopped(f"line search failed: no step above {MIN_STEP:g} works", failed=True)


def _largest_step(solver: Solver, model: "Model") -> float:
    if not solver.fisher_rao:
        return math.inf
    return 1.0 / model.gamma if model.gamma > 0 else 1.0


def _objectives(state: State, model: "Model") -> Objectives:
    return model.objectives(state.mean, state.factor, state.oracle.value)


def _rounding(model: "Model") -> float:
    """Return the relative rounding error of an objective, with a margin."""
    return max(ROUNDING, 50.0 * _epsilon(model))


def _epsilon(model: "Model") -> float:
    """Return the distance from 1 to the next larger number of the backend's type."""
    return float(2.0 ** -(23 if model.backend.dtype.itemsize == 4 else 52))
