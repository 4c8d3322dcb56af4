"""How a run ended: five statuses, and the rules that decide between them.

The rules look at the objective that the run minimises and at the Fisher-Rao norm of its gradient,
at each iterate, so that they do not depend on the recording schedule. Only a stochastic run, whose
objective between records is a noisy estimate, is judged by its records.
"""

import math
from dataclasses import dataclass

__all__ = [
    "CONVERGED_NORM",
    "MEANINGS",
    "STATUSES",
    "UNUSABLE",
    "Descent",
    "gradient_tolerance",
    "judge",
]

CONVERGED_NORM = 1e-3
"""Gradient norm of a converged run at gamma = 1. Close to the optimum the gap is about
|gradient|^2 / (2 gamma), so that this stands for a gap of 5e-7 nat."""
COLLAPSED_NORM = 1e-6
"""Gradient norm of a converged run at gamma = 0."""
STALLED_SHARE = 1e-9
"""Decrease, as a share of the whole decrease so far, below which the objective has not fallen."""
STALLED_ITERATIONS = 10
"""Iterations from which on a run can have stalled."""

MEANINGS = {
    "converged": "the gradient norm is within the tolerance",
    "completed": "the budget is used up, and the run has neither converged nor stalled",
    "stalled": "the objective has not fallen in the second half of the iterations, and the "
    "gradient norm is above the tolerance",
    "failed": "the run ended above its starting objective, or no step worked",
    "diverged": "the objective is not finite or has blown up, or a step is not defined",
}
"""What each status means, for readers."""
STATUSES = tuple(MEANINGS)
UNUSABLE = ("failed", "diverged")
"""Statuses of runs that are counted, but enter no statistic and no best value."""


def gradient_tolerance(gamma: float, tolerance: float | None) -> float:
    """Return the gradient norm up to which a run has converged, `tolerance` being its own.

    At gamma = 0 the covariance, and the norm with it, vanishes on the way to the optimum.
    """
    if tolerance is not None:
        return tolerance
    return CONVERGED_NORM * math.sqrt(gamma) if gamma > 0 else COLLAPSED_NORM


@dataclass
class Descent:
    """Progress of the objective along a run."""

    first: float
    """Objective of the initial state."""
    rounding: float
    """Relative rounding error of an objective."""
    best: float
    best_iteration: int = 0
    """Iteration of the last decrease that counts."""

    @classmethod
    def start(cls, first: float, rounding: float) -> "Descent":
        """Return the progress of a run that is at its initial state."""
        return cls(first, rounding, first)

    def update(self, iteration: int, objective: float) -> None:
        """Take note of an iterate."""
        least = STALLED_SHARE * (self.first - self.best) + self.rounding * abs(self.best)
        if objective < self.best - least:
            self.best, self.best_iteration = objective, iteration

    def has_stalled(self, iteration: int) -> bool:
        """Return whether the objective has not fallen since half of the iterations."""
        return iteration >= STALLED_ITERATIONS and 2 * self.best_iteration <= iteration

    def ends_above_start(self, last: float) -> bool:
        """Return whether a final objective exceeds the first by more than rounding."""
        return not last <= self.first + 1e3 * self.rounding * (1.0 + abs(self.first))


def judge(
    descent: Descent, iteration: int, last: float, grad_norm: float, tolerance: float, budget: str
) -> tuple[str, str]:
    """Return the status and the reason of a run that did not diverge.

    Parameters
    ----------
    descent
        Progress of the objective.
    iteration, last, grad_norm
        Number, objective and gradient norm of the last iterate.
    tolerance
        Gradient norm up to which the run has converged.
    budget
        Why the run stopped, e.g. "300 iterations done".
    """
    if descent.ends_above_start(last):
        reason = f"{budget}; objective {last:.6g} above the starting one, {descent.first:.6g}"
        return "failed", reason
    if tolerance > 0.0 and grad_norm <= tolerance:
        return "converged", f"{budget}; gradient norm {grad_norm:.3g} within {tolerance:.3g}"
    if descent.has_stalled(iteration):
        return "stalled", (
            f"{budget}; no lower objective since iteration {descent.best_iteration}, "
            f"gradient norm {grad_norm:.3g} above {tolerance:.3g}"
        )
    return "completed", f"{budget}; gradient norm {grad_norm:.3g} above {tolerance:.3g}"
