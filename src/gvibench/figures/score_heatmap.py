"""Draw the cost of each entry to a headline target on each problem."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator, NullLocator

from gvibench.analysis.configurations import unique
from gvibench.analysis.costs import COSTS
from gvibench.analysis.scores import HEADLINES, by_score, nearest_target
from gvibench.figures.drawing import Drawing
from gvibench.figures.entries import Looks, Scored, draw_study, sizes_note
from gvibench.figures.panels import POINTS_PER_INCH, Panels, fill
from gvibench.figures.style import WIDTHS
from gvibench.spec.scoring import ScoreSettings

__all__ = ["draw_heatmap", "plot"]

COLOR_MAP = "viridis_r"
"""Low costs are bright. The lightness changes evenly, so that a grey copy shows the same."""
UNREACHED = "0.85"
ROW_HEIGHT, MIN_HEIGHT = 0.028, 0.1
"""Height of a row, and minimum height of the panel, in inches per point of font size."""
NUMBER_SIZE = 0.7
"""Font size of the numbers in cells, relative to the font size of the figure."""
NAMES_WIDTH = 0.22
"""Width of the names of problems, relative to the width of the figure."""
MAX_NAME = 10.0
"""Length from which turned names of entries are broken into lines, in font sizes."""
BAR_LINES = 4.0
"""Height of the colour bar and its labels, in lines of text."""
MIN_REACHED = 0.25
"""Share of the cells that must reach a target for it to be shown."""
TITLE = "cost"


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the median cost of each solver of a study to a headline target on each problem."""
    return draw_study(draw_heatmap, dataset, style)


def draw_heatmap(
    outcomes: xr.Dataset,
    settings: ScoreSettings,
    style: Mapping[str, Any],
    looks: Looks | None = None,
) -> Scored:
    """Draw a cell per problem and entry, coloured by the median cost over the instances.

    If half of the instances or more did not reach the target, the cell is grey and has the share
    of all targets that were reached. The target is the smaller headline target, or the larger one
    if otherwise most of the figure would be grey.
    """
    target, table = _shown(outcomes, settings)
    problems, names = unique(table["problem"]), unique(table["line"])
    size = style["font_size"]
    height = max(ROW_HEIGHT * len(problems), MIN_HEIGHT) * size
    panels = Panels([TITLE], style, height=height)
    axes = panels.axes(TITLE)
    axes.set_title("")
    known = table["cost"][np.isfinite(table["cost"])]
    low, high = (known.min(), known.max()) if len(known) else (settings.least, settings.budget)
    norm = LogNorm(low, max(high, 1.001 * low))
    cell = (1 - NAMES_WIDTH) * WIDTHS[style["width"]] / len(names)
    _draw_cells(axes, table, norm, cell)
    _label_cells(axes, names, problems, cell, style)
    noun = COSTS[outcomes.attrs["cost"]].noun
    entries = []
    if (~np.isfinite(table["cost"]) & (table["runs"] > 0)).any():
        text = "not reached on half of the instances or more; number: share of all targets reached"
        entries.append(Patch(facecolor=UNREACHED, label=text))
    notes = [sizes_note(outcomes), "solvers from the highest to the lowest score"]
    if (table["runs"] == 0).any():
        notes.append("–: no run")
    panels.legend(entries, notes)
    _add_bar(panels, norm, f"{noun} to a gap of {target:g} nat (median over the instances)", size)
    return Scored(panels.figure, table)


def _shown(outcomes: xr.Dataset, settings: ScoreSettings) -> tuple[float, pd.DataFrame]:
    """Return the headline target to show, and its table."""
    for headline in sorted(HEADLINES):
        target = nearest_target(outcomes, headline)
        table = _table(outcomes, target, settings)
        if np.isfinite(table["cost"]).sum() >= MIN_REACHED * (table["runs"] > 0).sum():
            break
    return target, table


def _table(outcomes: xr.Dataset, target: float, settings: ScoreSettings) -> pd.DataFrame:
    """Return a row for each problem and entry, with entries in the order of their scores."""
    ordered = by_score(outcomes, settings.budget, settings.least)
    costs = ordered["cost"].transpose("entry", "instance", "target").values
    position = outcomes["target"].values.tolist().index(target)
    of_instance = outcomes["problem"].values
    rows = []
    for problem in unique(of_instance.tolist()):
        for k, name in enumerate(ordered["entry"].values.tolist()):
            here = costs[k, of_instance == problem]
            here = here[~np.isnan(here).all(axis=1)]
            reached = here <= settings.budget
            last = np.where(reached[:, position], here[:, position], np.inf)
            median = float(np.median(np.maximum(last, settings.least))) if len(here) else np.nan
            share = float(reached.mean()) if len(here) else np.nan
            rows.append((problem, name, len(here), int(reached[:, position].sum()), median, share))
    columns = ["problem", "line", "runs", "reached", "cost", "share_of_targets"]
    return pd.DataFrame(rows, columns=columns)


def _draw_cells(axes: Axes, table: pd.DataFrame, norm: LogNorm, cell: float) -> None:
    colors, size = colormaps[COLOR_MAP], NUMBER_SIZE * rcParams["font.size"]
    problems, names = unique(table["problem"]), unique(table["line"])
    letters = cell * POINTS_PER_INCH / (0.6 * size)
    for row in table.to_dict("records"):
        x, y = names.index(row["line"]), problems.index(row["problem"])
        reached = math.isfinite(row["cost"])
        face: Any = colors(norm(row["cost"])) if reached else UNREACHED
        if row["runs"] == 0:
            face = "white"
        corner = (x - 0.5, y - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, facecolor=face, edgecolor="white", linewidth=0.5))
        word = _word(row)
        if len(word) <= letters:
            dark = reached and norm(row["cost"]) >= 0.5
            color = "white" if dark else "black"
            axes.text(x, y, word, ha="center", va="center", fontsize=size, color=color)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(problems) - 0.5, -0.5)


def _word(row: Mapping[Any, Any]) -> str:
    """Return the text of a cell: the cost, or the share of targets reached."""
    if row["runs"] == 0:
        return "–"
    if not math.isfinite(row["cost"]):
        return f"{100 * row['share_of_targets']:.0f}%"
    cost = row["cost"]
    return f"{cost:.0f}" if 10 <= cost < 1e5 else f"{cost:.2g}"


def _label_cells(
    axes: Axes, names: list[str], problems: list[str], cell: float, style: Mapping[str, Any]
) -> None:
    size = rcParams["xtick.labelsize"]
    letter = 0.58 * size / POINTS_PER_INCH
    fits = max(map(len, names)) * letter <= 0.95 * cell
    words = (
        names if fits else [fill(name, MAX_NAME * size / POINTS_PER_INCH, size) for name in names]
    )
    axes.set_xticks(range(len(names)), words, rotation=0 if fits else 90)
    room = NAMES_WIDTH * WIDTHS[style["width"]]
    axes.set_yticks(range(len(problems)), [fill(name, room, size) for name in problems])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _add_bar(panels: Panels, norm: LogNorm, label: str, size: float) -> None:
    """Add a colour bar below the panel."""
    line = size / POINTS_PER_INCH
    figure, (axes,) = panels.figure, panels.figure.axes
    # Names of solvers above the cells need room, too.
    words = [text.get_text() for text in axes.get_xticklabels()]
    longest = max(len(line) for word in words for line in word.splitlines())
    turned = axes.get_xticklabels()[0].get_rotation() == 90
    names = 0.6 * longest * line if turned else 1.5 * line
    figure.set_figheight(figure.get_figheight() + BAR_LINES * line + names)
    mappable = ScalarMappable(norm, colormaps[COLOR_MAP])
    pad = line / figure.get_figheight()
    bar = figure.colorbar(mappable, ax=axes, location="bottom", shrink=0.6, aspect=40, pad=pad)
    bar.ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    bar.ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    bar.ax.xaxis.set_minor_locator(NullLocator())
    bar.set_label(fill(label, 0.9 * figure.get_figwidth()))
    bar.outline.set_linewidth(0.4)
