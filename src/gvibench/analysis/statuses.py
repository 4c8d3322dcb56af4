"""Explain the statuses of runs to readers."""

import re

__all__ = ["MEANINGS", "NO_STEP", "short_reason"]

MEANINGS = {
    "converged": "the gradient norm is within the tolerance",
    "completed": "the budget is used up, and the run has neither converged nor stalled",
    "stalled": "the objective has not fallen in the second half of the iterations, and the "
    "gradient norm is above the tolerance",
    "failed": "the run ended above its starting objective, or no step worked",
    "diverged": "the objective is not finite or has blown up, or a step is not defined",
}
"""Meaning of each status."""
NO_STEP = "no step worked"
"""Beginning of the reason of a run for which tuning found no step."""
SEARCH_FAILED = "line search failed"
"""Beginning of the reason of a run whose step rule found no step."""


def short_reason(status: str, reason: str) -> str:
    """Return the reason of an ending without the numbers that differ between runs."""
    if status == "stalled":
        return "the objective no longer decreases, gradient norm above the tolerance"
    if status == "failed":
        if reason.startswith(SEARCH_FAILED):
            return "the line search found no step"
        return reason if reason.startswith(NO_STEP) else "ended above the starting objective"
    _, _, text = reason.rpartition(": ")
    return re.sub(r" to [-+.\dein]+$", "", text)
