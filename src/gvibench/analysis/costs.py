"""Name the costs by which solvers are compared: evaluations, data passes, time or iterations."""

from typing import NamedTuple

import xarray as xr

__all__ = ["COSTS", "Cost", "cost_of"]


class Cost(NamedTuple):
    """A measure of the work of a run."""

    name: str
    """Name in configs, and of columns in tables."""
    curve: str
    """Variable of an aggregate with the cost up to each record."""
    noun: str
    """Plural noun for sentences and headings."""
    axis: str
    """Label of an axis."""
    least: float
    """Smallest cost on a logarithmic axis, because a run that starts within a level has none."""


COSTS = {
    cost.name: cost
    for cost in (
        Cost("evaluations", "evaluations", "evaluations", "model evaluations", 1.0),
        Cost("data_passes", "data_passes", "data passes", "passes over the data", 1e-9),
        Cost("seconds", "seconds", "seconds", "solver time [s]", 1e-9),
        Cost("iterations", "iteration", "iterations", "iteration", 1.0),
    )
}
"""Costs by name."""


def cost_of(dataset: xr.Dataset) -> Cost:
    """Return the cost that a study has chosen to compare its solvers."""
    return COSTS[dataset.attrs.get("cost", "evaluations")]
