"""Performance profiles (Dolan and Moré): who solves how many problems how fast."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis.configurations import Configuration, configurations
from gvibench.analysis.gaps import settled
from gvibench.analysis.ranking import Ranking
from gvibench.figures.panels import Panels, best_note, handle, looks_of, reference_name

__all__ = ["LEVEL", "plot", "problems_note", "ratios"]

LEVEL = 1e-4
"""A problem counts as solved once the objective gap, in nats, is at most this."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw the share of problems solved within a factor of the best, by iterations and by time.

    A problem is a data set with a seed, and it is solved once the gap settles. Runs that diverged
    or failed have not solved theirs. Each line is judged on the problems that it was given.
    """
    every = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(every)
    chosen = looks_of(shown)
    seeds = np.asarray(dataset["seed"].values)
    effort = settled(dataset, LEVEL)
    # What is reached at the start costs as much as one iteration, so that ratios exist.
    costs = {
        "iterations": np.maximum(effort.iterations, 1.0),
        "solver time": np.maximum(effort.seconds, 1e-9),
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
        f"solved: objective gap to the {reference_name(dataset)} settles at {LEVEL:g} nat or less",
        *problems_note(found),
        *best_note(every, shown),
    ]
    panels.legend([handle(line, look) for line, look in chosen.items()], notes)
    return panels.figure, shown


def ratios(
    shown: Sequence[Configuration], seeds: np.ndarray, cost: np.ndarray
) -> dict[str, np.ndarray]:
    """Return, by line, the cost over that of the best line on each problem the line was given.

    The ratio is infinite where the line has not solved the problem.
    """
    by_problem: dict[tuple[str, int], dict[str, float]] = {}
    for config in shown:
        for run in config.runs:
            value = cost[run]
            costs = by_problem.setdefault((config.problem, int(seeds[run])), {})
            costs[config.line] = np.inf if np.isnan(value) else float(value)
    relative: dict[str, list[float]] = {config.line: [] for config in shown}
    for costs in by_problem.values():
        best = min(costs.values())
        for line, value in costs.items():
            relative[line].append(value / best if np.isfinite(value) else np.inf)
    return {line: np.array(values) for line, values in relative.items()}


def problems_note(shares: Mapping[str, np.ndarray]) -> list[str]:
    """Return how many problems each line was given, if these differ."""
    counts = {line: len(values) for line, values in shares.items()}
    if len(set(counts.values())) == 1:
        return []
    words = ", ".join(f"{line} {count}" for line, count in counts.items())
    return [f"each solver is judged on the problems it was given: {words}"]


def _steps(values: np.ndarray, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the share of `values` at or below a factor, up to `right`."""
    factors = np.unique(np.concatenate([[1.0], values[np.isfinite(values)], [right]]))
    return factors, np.array([np.mean(values <= factor) for factor in factors])
