"""Draw the scores of entries with their intervals, and bracket entries that are tied."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gvibench.analysis.scores import bootstrap, letters, tie_groups, ties
from gvibench.figures.drawing import Drawing
from gvibench.figures.entries import (
    Looks,
    Scored,
    draw_study,
    entry_styles,
    limits_note,
    sizes_note,
)
from gvibench.figures.panels import Panels, fill
from gvibench.figures.style import WIDTHS
from gvibench.spec.scoring import ScoreSettings

__all__ = ["draw_intervals", "plot"]

ROW_HEIGHT, MIN_HEIGHT = 0.026, 0.12
"""Height of an entry, and minimum height of the panel, in inches per point of font size."""
LANE = 0.025
"""Distance between two brackets, relative to the width of the axes."""
BRACKET = "0.4"
TITLE = "score"


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the score of each solver of a study with its 95% interval."""
    return draw_study(draw_intervals, dataset, style)


def draw_intervals(
    outcomes: xr.Dataset,
    settings: ScoreSettings,
    style: Mapping[str, Any],
    looks: Looks | None = None,
) -> Scored:
    """Draw a dot and an interval per entry, best first, and a bracket per group of ties."""
    result = bootstrap(outcomes, settings.budget, settings.draws, least=settings.least)
    names = result["entry"].values.tolist()
    looks = looks or entry_styles(names)
    groups = tie_groups(names, ties(result["beats"]))
    marks = letters(groups)
    table = pd.DataFrame(
        {
            "line": names,
            **{name: result[name].values for name in ("score", "score_low", "score_high")},
            **{name: result[name].values for name in ("rank", "rank_low", "rank_high")},
            "ties": [marks[name] for name in names],
        }
    )
    height = max(ROW_HEIGHT * len(names), MIN_HEIGHT) * style["font_size"]
    panels = Panels([TITLE], style, height=height)
    axes = panels.axes(TITLE)
    axes.set_title("")
    _draw_intervals(axes, table, looks)
    room = 0.3 * WIDTHS[style["width"]]
    labels = [fill(name, room, rcParams["ytick.labelsize"]) for name in names]
    axes.set_yticks(range(len(names)), labels)
    axes.set_ylim(len(names) - 0.4, -0.6)
    _draw_brackets(axes, table, [[names.index(name) for name in group] for group in groups])
    axes.grid(visible=False, axis="y")
    panels.label("score (area under the share of targets reached)", "")
    notes = [f"{sizes_note(outcomes)}; lines: 95% bootstrap intervals of {settings.draws} samples"]
    handles = []
    if any(len(group) > 1 for group in groups):
        handles.append(
            Line2D([], [], color=BRACKET, linewidth=1.2, label="solvers that are not separable")
        )
    panels.legend(handles, [*notes, *limits_note(outcomes)])
    return Scored(panels.figure, table)


def _draw_intervals(axes: Axes, table: pd.DataFrame, looks: Looks) -> None:
    for y, row in enumerate(table.to_dict("records")):
        look = looks[row["line"]]
        ends = [row["score_low"], row["score_high"]]
        axes.plot(ends, [y, y], color=look.color, linewidth=1.6, solid_capstyle="butt")
        (dot,) = axes.plot([row["score"]], [y], label=row["line"], color=look.color)
        dot.set(marker=look.marker, linestyle="", markersize=5)


def _draw_brackets(axes: Axes, table: pd.DataFrame, groups: Sequence[Sequence[int]]) -> None:
    """Draw a vertical line to the right of the intervals for each group of tied entries."""
    several = [group for group in groups if len(group) > 1]
    lanes: list[int] = []
    ends: list[int] = []  # last row of each lane
    for group in several:
        free = [k for k, end in enumerate(ends) if end < group[0]]
        lane = free[0] if free else len(ends)
        if lane == len(ends):
            ends.append(group[-1])
        ends[lane] = group[-1]
        lanes.append(lane)
    low, high = float(table["score_low"].min()), float(table["score_high"].max())
    span = max(high - low, 0.05)
    left = max(low - 0.05 * span, -0.02)
    width = (high + 0.03 * span - left) / (1 - LANE * (len(ends) + 0.5))
    right = left + width
    axes.set_xlim(left, right)
    for group, lane in zip(several, lanes, strict=True):
        x = right - width * LANE * (len(ends) - lane)
        axes.plot([x, x], [group[0] - 0.2, group[-1] + 0.2], color=BRACKET, gid="ties")
        axes.plot([x] * len(group), group, ".", color=BRACKET, markersize=3.5, gid="tied")
