"""Turn the numbers of the table of performance into text for readers."""

from typing import Any

from gvibench.analysis.costs import COSTS
from gvibench.analysis.ranking import TIE
from gvibench.spec.statuses import STATUSES
from gvibench.tables.formats import spread

__all__ = ["cell_text", "ended", "reached_text"]

DIGITS = {
    "test_accuracy": 4,
    "gap": 3,
    "difference_to_best": 3,
    **dict.fromkeys(COSTS, 4),
    "seconds": 3,
}
DECIMALS = 10
"""Decimals of gaps and differences for readers, because further digits are rounding errors."""


def ended(row: dict[Any, Any]) -> str:
    """Return the number of seeds by status, for example "4 converged, 1 failed"."""
    return ", ".join(f"{row[status]} {status}" for status in STATUSES if row[status])


def cell_text(row: dict[Any, Any], name: str) -> str:
    """Return a quantity as "median [min, max]", or the text in place of it."""
    center, low, high = (row[f"{name}_{statistic}"] for statistic in ("median", "min", "max"))
    if isinstance(center, str):
        return center
    if name in {"gap", "difference_to_best"}:
        center, low, high = (
            0.0 if abs(value) < TIE else round(value, DECIMALS) for value in (center, low, high)
        )
    return spread(center, low, high, DIGITS.get(_cost_in(name), DIGITS.get(name, 6)))


def reached_text(row: dict[Any, Any], name: str) -> str:
    """Return an effort and, unless all or no seeds reached the level, the number that did."""
    text = cell_text(row, name)
    target = name.removeprefix(f"{_cost_in(name)}_")
    count, seeds = row[f"reached_{target}"], row["seeds"]
    return text if count in {0, seeds} else f"{text} ({count}/{seeds})"


def _cost_in(name: str) -> str:
    """Return the cost that the name of a column begins with, or an empty string."""
    return next((cost for cost in COSTS if name.startswith(cost)), "")
