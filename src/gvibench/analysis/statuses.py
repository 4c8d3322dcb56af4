"""Explain the statuses of runs to readers."""

__all__ = ["MEANINGS"]

MEANINGS = {
    "converged": "the gradient norm is within the tolerance",
    "completed": "the budget is used up, and the run has neither converged nor stalled",
    "stalled": "the objective has not fallen in the second half of the iterations, and the "
    "gradient norm is above the tolerance",
    "failed": "the run ended above its starting objective, or no step worked",
    "diverged": "the objective is not finite or has blown up, or a step is not defined",
}
"""Meaning of each status."""
