"""Draw performance profiles (Dolan and Moré): the share of problems solved by relative cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.efforts import SOLVED, settled
from gvibench.analysis.ranking import Ranking
from gvibench.figures.bands import visible
from gvibench.figures.drawing import Drawing
from gvibench.figures.ecdf import draw_ecdf, panels_of, stand_in
from gvibench.figures.lines import legend_entry
from gvibench.figures.notes import best_note, reference_name
from gvibench.figures.panels import Panels
from gvibench.figures.style import line_styles_of

__all__ = ["plot", "ratios"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the share of problems solved within a factor of the best cost.

    One panel counts the cost of the study and the other one solver time. A problem is a data set
    with a seed. It is solved once the gap settles at the level that the figure states. Runs that
    diverged or failed did not solve theirs. The share of a line is over the problems for which the
    study has runs of this line.
    """
    configs = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(configs)
    table = _table(dataset, shown)
    notes = [
        f"solved: objective gap to the {reference_name(dataset)} settles at {SOLVED:g} nat or less",
        *_problems_note(table),
        *best_note(configs, shown),
    ]
    styles = visible(table, line_styles_of(shown))
    names = unique(table["panel"])
    panels = Panels(names, style)
    for name in names:
        draw_ecdf(panels.axes(name), table[table["panel"] == name], "ratio", styles, left=1.0)
    panels.note_hidden_lines()
    panels.label("cost / lowest cost", "share of problems solved")
    panels.legend([legend_entry(line, look) for line, look in styles.items()], notes)
    return Drawing(panels.figure, shown, table)


def _table(dataset: xr.Dataset, shown: Sequence[Configuration]) -> pd.DataFrame:
    """Return the relative cost of each problem. Unsolved problems have a finite stand-in."""
    seeds = np.asarray(dataset["seed"].values)
    effort = settled(dataset, SOLVED)
    parts = []
    for panel, cost in panels_of(dataset).items():
        spent = np.maximum(effort.cost(cost.name), cost.least)
        rows = [
            (panel, line, ratio)
            for line, values in ratios(shown, seeds, spent).items()
            for ratio in values.tolist()
        ]
        parts.append(stand_in(pd.DataFrame(rows, columns=["panel", "line", "ratio"]), "ratio"))
    return pd.concat(parts, ignore_index=True)


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


def _problems_note(table: pd.DataFrame) -> list[str]:
    """Return a note on the number of problems of each line, if these differ."""
    first = table[table["panel"] == table["panel"].iloc[0]]
    counts = first.groupby("line", sort=False).size().to_dict()
    if len(set(counts.values())) == 1:
        return []
    words = ", ".join(f"{line} {count}" for line, count in counts.items())
    return [f"number of problems: {words}"]
