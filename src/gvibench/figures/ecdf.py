"""Draw the share of targets that each solver reached within a cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.costs import COSTS, Cost, cost_of
from gvibench.analysis.efforts import LEVELS, efforts
from gvibench.analysis.ranking import Ranking
from gvibench.figures.bands import visible
from gvibench.figures.drawing import Drawing
from gvibench.figures.lines import legend_entry, scale_cost
from gvibench.figures.notes import best_note, reference_name
from gvibench.figures.panels import Panels
from gvibench.figures.style import LineStyle, line_styles_of

__all__ = ["draw_ecdf", "panels_of", "plot", "stand_in"]

BEYOND = 10.0
"""Ratio of the stand-in for targets that were not reached to the largest cost."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the share of targets reached against the cost of the study and solver time.

    A target is a problem, a seed and a level of the objective gap. It is reached when the gap is
    at most the level for the first time. Costs are absolute, unlike those of `profile`. Targets
    of runs that diverged or failed are not reached.
    """
    configs = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(configs)
    table = _table(dataset, shown)
    levels = ", ".join(f"{level:g}" for level in LEVELS)
    notes = [
        f"targets: first objective gap to the {reference_name(dataset)} of at most {levels} nat, "
        "for each problem and seed",
        *best_note(configs, shown),
    ]
    styles = visible(table, line_styles_of(shown))
    panels = Panels(unique(table["panel"]), style)
    for name in unique(table["panel"]):
        draw_ecdf(panels.axes(name), table[table["panel"] == name], "cost", styles)
    panels.note_hidden_lines()
    panels.label("cost", "share of targets reached")
    for name, cost in panels_of(dataset).items():
        panels.axes(name).set_xlabel(cost.axis)
    panels.legend([legend_entry(line, look) for line, look in styles.items()], notes)
    return Drawing(panels.figure, shown, table)


def panels_of(dataset: xr.Dataset) -> dict[str, Cost]:
    """Return the costs to show, by the names of their panels: that of the study, and time."""
    costs = unique([cost_of(dataset), COSTS["seconds"]])
    return {"solver time" if cost.name == "seconds" else cost.noun: cost for cost in costs}


def _table(dataset: xr.Dataset, shown: Sequence[Configuration]) -> pd.DataFrame:
    """Return the cost of each target. Targets that were not reached have a finite stand-in."""
    seeds = dataset["seed"].values.tolist()
    reached = efforts(dataset, [("first", level) for level in LEVELS])
    parts = []
    for panel, cost in panels_of(dataset).items():
        rows = [
            (panel, config.line, config.panel, seeds[run], level, effort.cost(cost.name)[run])
            for config in shown
            for run in config.runs
            for (_, level), effort in reached.items()
        ]
        part = pd.DataFrame(rows, columns=["panel", "line", "problem", "seed", "level", "cost"])
        part["cost"] = part["cost"].clip(lower=cost.least)
        parts.append(stand_in(part, "cost"))
    return pd.concat(parts, ignore_index=True)


def stand_in(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Add a column `reached`, and replace costs that are not finite by one beyond the axis.

    `ecdfplot` leaves out infinite values, so that shares would be too large.
    """
    reached = np.isfinite(table[column])
    largest = max(float(table[column][reached].max()), 1e-9) if reached.any() else 1.0
    beyond = BEYOND * largest
    return table.assign(**{"reached": reached, column: table[column].where(reached, beyond)})


def draw_ecdf(
    axes: Axes,
    table: pd.DataFrame,
    column: str,
    styles: Mapping[str, LineStyle],
    left: float | None = None,
) -> None:
    """Draw the share of rows with at most a given cost, one line for each value of `line`."""
    import seaborn

    reached = table[column][table["reached"]]
    right = max(2.0 * (left or 0.0), 1.2 * float(reached.max()) if len(reached) else 1.0)
    low = left or (0.8 * float(reached.min()) if len(reached) else 0.1 * right)
    for line, look in styles.items():
        costs = table[table["line"] == line]
        if costs.empty:
            continue
        options = {"color": look.color, "linestyle": look.dash, "label": line}
        seaborn.ecdfplot(costs, x=column, ax=axes, legend=False, **options)
        # seaborn's line begins at minus infinity and ends at the last cost.
        artist = axes.get_lines()[-1]
        at, share = (np.asarray(values) for values in artist.get_data())
        end = max(right, float(at[-1]))
        artist.set_data([low, *at[1:], end], [*share, share[-1]])
    axes.set_xlim(low, right)
    scale_cost(axes)
    axes.set_ylim(-0.03, 1.03)
    axes.set(xlabel="", ylabel="")
