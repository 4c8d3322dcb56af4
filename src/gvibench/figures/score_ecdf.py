"""Draw the share of all targets that each entry reached within a cost, with its score."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import unique
from gvibench.analysis.costs import COSTS
from gvibench.analysis.scores import area, bands, by_score, shares
from gvibench.figures.drawing import Drawing
from gvibench.figures.entries import (
    Looks,
    Scored,
    draw_study,
    entry_styles,
    limits_note,
    sizes_note,
)
from gvibench.figures.lines import legend_entry, scale_cost
from gvibench.figures.panels import Panels
from gvibench.spec.scoring import ScoreSettings

__all__ = ["draw_scores", "plot"]

POINTS = 240
"""Number of costs at which a line is drawn."""
MAX_BANDS = 4
"""Number of entries up to which the figure has bands, which would hide each other."""
BAND_ALPHA = 0.15


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the share of targets reached against the cost of the study and solver time."""
    return draw_study(draw_scores, dataset, style)


def draw_scores(
    outcomes: xr.Dataset,
    settings: ScoreSettings,
    style: Mapping[str, Any],
    looks: Looks | None = None,
    *,
    has_time: bool = True,
) -> Scored:
    """Draw one line per entry, best first in the legend.

    Problems have equal weights, then their instances, then the targets. The score of an entry is
    the area under its line in the first panel. A second panel shows solver time, unless the entries
    were measured on different machines.
    """
    scores = area(outcomes, settings.budget, settings.least)
    ordered = by_score(outcomes, settings.budget, settings.least)
    names = ordered["entry"].values.tolist()
    looks = looks or entry_styles(names)
    has_bands = len(names) <= MAX_BANDS and outcomes.sizes["instance"] > 1
    costs = _panels(outcomes, has_time=has_time)
    table = _table(ordered, settings, costs, has_bands=has_bands)
    panels = Panels(unique(table["panel"]), style)
    for panel, part in table.groupby("panel", sort=False):
        axes = panels.axes(str(panel))
        for name in names:
            line = part[part["line"] == name]
            look = looks[name]
            axes.plot(line["at"], line["share"], color=look.color, linestyle=look.dash, label=name)
            if has_bands:
                ends = line["low"], line["high"]
                axes.fill_between(line["at"], *ends, color=look.color, alpha=BAND_ALPHA, lw=0)
        axes.set_xlim(part["at"].min(), part["at"].max())
        scale_cost(axes)
        axes.set_ylim(-0.03, 1.03)
    panels.note_hidden_lines()
    panels.label("cost", "share of targets reached")
    for panel, cost in costs.items():
        panels.axes(panel).set_xlabel(COSTS[cost].axis)
    handles = [
        legend_entry(f"{name} ({float(scores.sel(entry=name)):.3f})", looks[name]) for name in names
    ]
    low, high = min(settings.targets), max(settings.targets)
    notes = [
        f"{sizes_note(outcomes)}, {outcomes.sizes['target']} targets from {high:g} to {low:g} nat",
        f"in brackets: score, the area under the line{' in the first panel' if has_time else ''}",
    ]
    if has_bands:
        notes.append("bands: 95% bootstrap intervals")
    panels.legend(handles, [*notes, *limits_note(outcomes)])
    return Scored(panels.figure, table)


def _panels(outcomes: xr.Dataset, *, has_time: bool) -> dict[str, str]:
    """Return the names of costs by panel: the cost of the benchmark, and solver time."""
    names = unique([outcomes.attrs["cost"], *(["seconds"] if has_time else [])])
    return {"solver time" if name == "seconds" else COSTS[name].noun: name for name in names}


def _table(
    outcomes: xr.Dataset, settings: ScoreSettings, costs: Mapping[str, str], *, has_bands: bool
) -> pd.DataFrame:
    """Return the shares of each panel and entry along its costs."""
    parts = []
    for panel, cost in costs.items():
        variable = "cost" if cost == outcomes.attrs["cost"] else "seconds"
        at = _grid(settings) if variable == "cost" else _times(outcomes)
        center = shares(outcomes, at.tolist(), variable)
        low, high = center, center
        if has_bands:
            low, high = bands(outcomes, at.tolist(), variable, settings.draws)
        for name in outcomes["entry"].values.tolist():
            curves = {"share": center, "low": low, "high": high}
            columns = {key: array.sel(entry=name).values for key, array in curves.items()}
            parts.append(pd.DataFrame({"panel": panel, "line": name, "at": at, **columns}))
    return pd.concat(parts, ignore_index=True)


def _grid(settings: ScoreSettings) -> np.ndarray:
    """Return the costs from the first to the last one that counts."""
    grid = np.geomspace(settings.least, settings.budget, POINTS)
    grid[0], grid[-1] = settings.least, settings.budget
    return grid


def _times(outcomes: xr.Dataset) -> np.ndarray:
    """Return times from the first to the last target that was reached."""
    seconds = outcomes["seconds"].values
    seconds = seconds[np.isfinite(seconds) & (seconds > 0)]
    if seconds.size == 0:
        return np.geomspace(1e-3, 1.0, POINTS)
    return np.geomspace(0.8 * seconds.min(), 1.2 * seconds.max(), POINTS)
