"""Names of the ways in which a run can end."""

__all__ = ["STATUSES", "UNUSABLE"]

STATUSES = ("converged", "completed", "stalled", "failed", "diverged")
UNUSABLE = ("failed", "diverged")
"""Statuses of runs that are counted, but excluded from statistics and best values."""
