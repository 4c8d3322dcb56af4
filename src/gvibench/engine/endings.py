"""Decide how a run ended: converged, completed, stalled, failed or diverged.

The rules use the objective and the Fisher-Rao norm of its gradient at each iterate, so that the
status does not depend on the recording schedule. A stochastic run is judged by its records, because
its objective between records is a noisy estimate.
"""

import math
from dataclasses import dataclass

__all__ = [
    "CONVERGED_NORM",
    "Descent",
    "gradient_tolerance",
    "judge",
    "settled_tolerance",
]

CONVERGED_NORM = 1e-3
"""Maximum gradient norm of a converged run at gamma = 1. Close to the optimum the gap is about
|gradient|^2 / (2 gamma), so that this norm corresponds to a gap of 5e-7 nat."""
COLLAPSED_NORM = 1e-6
"""Maximum gradient norm of a converged run at gamma = 0."""
SETTLED_NORM = 1e-6
"""Maximum gradient norm at gamma = 1 at which a trial of the tuning stage ends early. Its objective
is then within about 5e-13 nat of the optimum, so that no later iterate can change the choice."""
STALLED_SHARE = 1e-9
"""Minimum decrease of the objective that counts, as a share of its total decrease so far."""
STALLED_ITERATIONS = 10
"""Minimum number of iterations of a stalled run."""


def gradient_tolerance(gamma: float, tolerance: float | None) -> float:
    """Return the maximum gradient norm of a converged run.

    The `tolerance` of the run takes precedence if it is set. Gamma = 0 has its own value, because
    the covariance, and therefore the norm, converges to zero.
    """
    if tolerance is not None:
        return tolerance
    return CONVERGED_NORM * math.sqrt(gamma) if gamma > 0 else COLLAPSED_NORM


def settled_tolerance(gamma: float) -> float:
    """Return the maximum gradient norm at which a trial ends early, for gamma > 0."""
    return SETTLED_NORM * math.sqrt(gamma)


@dataclass
class Descent:
    """Progress of the objective along a run."""

    first: float
    """Objective of the initial state."""
    rounding: float
    """Relative rounding error of an objective."""
    best: float
    """Smallest objective so far, up to decreases that are too small to count."""
    best_iteration: int = 0
    """Iteration of the last decrease that counts."""

    @classmethod
    def start(cls, first: float, rounding: float) -> "Descent":
        """Return the progress of a run at its initial state."""
        return cls(first, rounding, first)

    def min_decrease(self) -> float:
        """Return the minimum decrease of the objective that counts."""
        return STALLED_SHARE * (self.first - self.best) + self.rounding * abs(self.best)

    def update(self, iteration: int, objective: float) -> None:
        """Update the best objective with an iterate."""
        if objective < self.best - self.min_decrease():
            self.best, self.best_iteration = objective, iteration

    def has_stalled(self, iteration: int) -> bool:
        """Return whether the objective has not decreased in the second half of the iterations."""
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
        Maximum gradient norm of a converged run.
    budget
        Reason why the run stopped, e.g. "300 iterations done".
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
