"""Draw performance profiles (Dolan and Moré): the share of problems solved by relative cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gvibench.analysis.configurations import Configuration, configurations
from gvibench.analysis.gaps import settled
from gvibench.analysis.ranking import Ranking
from gvibench.figures.lines import legend_entry, line_styles_of
from gvibench.figures.notes import best_note, reference_name
from gvibench.figures.panels import Panels
from gvibench.figures.style import LineStyle

__all__ = ["LEVEL", "plot", "ratios"]

LEVEL = 1e-4
"""Objective gap in nats at which a problem counts as solved."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw the share of problems solved within a factor of the best cost.

    One panel counts iterations and the other solver time. A problem is a data set with a seed. It
    is solved once the gap settles at `LEVEL`. Runs that diverged or failed did not solve theirs.
    The share of a line is over the problems for which the study has runs of this line.
    """
    configs = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(configs)
    styles = line_styles_of(shown)
    seeds = np.asarray(dataset["seed"].values)
    effort = settled(dataset, LEVEL)
    # A run that starts within the level has no cost. A positive minimum makes its ratios finite.
    costs = {
        "iterations": np.maximum(effort.iterations, 1.0),
        "solver time": np.maximum(effort.seconds, 1e-9),
    }
    panels = Panels(list(costs), style)
    for name, cost in costs.items():
        relative = ratios(shown, seeds, cost)
        _draw(panels.axes(name), relative, styles)
    panels.label("cost / lowest cost", "share of problems solved")
    notes = [
        f"solved: objective gap to the {reference_name(dataset)} settles at {LEVEL:g} nat or less",
        *_problems_note(relative),
        *best_note(configs, shown),
    ]
    entries = [legend_entry(line, line_style) for line, line_style in styles.items()]
    panels.legend(entries, notes)
    return panels.figure, shown


def ratios(
    shown: Sequence[Configuration], seeds: np.ndarray, cost: np.ndarray
) -> dict[str, np.ndarray]:
    """Return, by line, the cost on each of its problems relative to the best line.

    The ratio is infinite if the line did not solve the problem.
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


def _draw(axes: Axes, relative: Mapping[str, np.ndarray], styles: Mapping[str, LineStyle]) -> None:
    solved = [values[np.isfinite(values)] for values in relative.values()]
    largest = max((values.max() for values in solved if len(values)), default=1.0)
    right = max(2.0, 1.2 * largest)
    for line, values in relative.items():
        factors, shares = _steps(values, right)
        color, dash = styles[line].color, styles[line].dash
        axes.step(factors, shares, where="post", color=color, linestyle=dash, label=line)
    axes.set_xscale("log")
    axes.set_xlim(1.0, right)
    axes.set_ylim(-0.03, 1.03)


def _steps(values: np.ndarray, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the share of `values` at or below a factor, up to `right`."""
    factors = np.unique(np.concatenate([[1.0], values[np.isfinite(values)], [right]]))
    return factors, np.array([np.mean(values <= factor) for factor in factors])


def _problems_note(relative: Mapping[str, np.ndarray]) -> list[str]:
    """Return a note on the number of problems of each line, if these differ."""
    counts = {line: len(values) for line, values in relative.items()}
    if len(set(counts.values())) == 1:
        return []
    words = ", ".join(f"{line} {count}" for line, count in counts.items())
    return [f"number of problems: {words}"]
