"""Performance profiles (Dolan and Moré): who solves how many problems how fast."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis import (
    Configuration,
    Ranking,
    configurations,
    iterations_to,
    seconds_to,
)
from gvibench.figures.panels import Panels, best_note, handle, looks_of, reference_name

__all__ = ["LEVEL", "plot", "ratios"]

LEVEL = 1e-4
"""A problem counts as solved once the objective gap, in nats, is at most this."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw the share of problems solved within a factor of the best, by iterations and by time.

    A problem is a data set with a seed; diverged runs have not solved theirs.
    """
    every = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(every)
    chosen = looks_of(shown)
    seeds = np.asarray(dataset["seed"].values)
    # What is reached at the start costs as much as one iteration, so that ratios exist.
    costs = {
        "iterations": np.maximum(iterations_to(dataset, LEVEL).values, 1.0),
        "solver time": np.maximum(seconds_to(dataset, LEVEL).values, 1e-9),
    }
    panels = Panels(list(costs), style)
    for name, cost in costs.items():
        axes = panels.axes(name)
        found = ratios(shown, seeds, cost)
        solved = [values[np.isfinite(values)] for values in found.values()]
        most = max((values.max() for values in solved if len(values)), default=1.0)
        right = max(2.0, 1.2 * most)
        for line, values in found.items():
            factors, shares = _steps(values, right)
            look = chosen[line]
            axes.step(
                factors, shares, where="post", color=look.color, linestyle=look.dash, label=line
            )
        axes.set_xscale("log")
        axes.set_xlim(1.0, right)
        axes.set_ylim(-0.03, 1.03)
    panels.label("cost / lowest cost", "share of problems solved")
    notes = [
        f"solved: objective gap to the {reference_name(dataset)} at most {LEVEL:g} nat",
        *best_note(every, shown),
    ]
    panels.legend([handle(line, look) for line, look in chosen.items()], notes)
    return panels.figure, shown


def ratios(
    shown: Sequence[Configuration], seeds: np.ndarray, cost: np.ndarray
) -> dict[str, np.ndarray]:
    """Return, by line, each problem's cost over that of the best line; infinite if not solved."""
    by_problem: dict[tuple[str, int], dict[str, float]] = {}
    for one in shown:
        for run in one.runs:
            value = cost[run]
            costs = by_problem.setdefault((one.panel, int(seeds[run])), {})
            costs[one.line] = np.inf if np.isnan(value) else float(value)
    lines = dict.fromkeys(one.line for one in shown)
    table = np.array([[costs.get(line, np.inf) for line in lines] for costs in by_problem.values()])
    best = table.min(axis=1, keepdims=True)
    relative = np.where(np.isfinite(table), table / np.where(np.isfinite(best), best, 1.0), np.inf)
    return {line: relative[:, column] for column, line in enumerate(lines)}


def _steps(values: np.ndarray, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the share of `values` at or below a factor, up to `right`."""
    factors = np.unique(np.concatenate([[1.0], values[np.isfinite(values)], [right]]))
    return factors, np.array([np.mean(values <= factor) for factor in factors])
