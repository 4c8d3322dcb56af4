"""Draw the final objective gap over the grid of steps and initial scales."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.patches import Patch, Rectangle

from gvibench.analysis.bands import CENTERS
from gvibench.analysis.configurations import configurations, unique
from gvibench.figures.drawing import Drawing
from gvibench.figures.notes import floor_note, reference_name
from gvibench.figures.panels import POINTS_PER_INCH, Panels, fill
from gvibench.figures.sensitivity import final_gaps, with_step_size
from gvibench.figures.style import FLOOR

__all__ = ["plot"]

COLOR_MAP = "viridis_r"
"""Small gaps are bright. The lightness changes evenly, so that a grey copy shows the same."""
NUMBER_SIZE = 0.7
"""Font size of the numbers in cells, relative to the font size of the figure."""
MIN_CELL_WIDTH = 4.2
"""Width from which a cell contains its number, in font sizes of the number."""
UNUSABLE_COLOR = "0.85"
MIN_MARK_WIDTH = 0.8
"""Width from which a cell contains letters, in font sizes. Narrower cells have dots instead."""
MAX_TICKS = 9
"""Maximum number of steps or initial scales with a label."""
BAR_LINES = 4.0
"""Height of the colour bar and its labels, in lines of text."""
ROW_HEIGHT, MIN_HEIGHT = 0.035, 0.1
"""Height of a row of cells, and minimum height of a panel, in inches per point of font size."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw one panel per problem and solver, with steps along x and initial scales along y.

    A cell has the colour of the centre of its final gaps. A cross marks a cell in which all seeds
    diverged or failed. A dagger or a dot marks one in which some did.
    """
    configs, left_out = with_step_size(configurations(dataset))
    table = _table(final_gaps(dataset, configs), style["center"])
    label = f"final objective gap to the {reference_name(dataset)} [nat]"
    count = len(unique(dataset["seed"].values.tolist()))
    notes = [f"{CENTERS[style['center']][0]} over {count} seeds"] if count > 1 else []
    notes += left_out
    return Drawing(_draw(table, style, label, notes).figure, configs, table)


def _table(finals: pd.DataFrame, center: str) -> pd.DataFrame:
    """Return a row for each problem, solver, step and initial scale."""
    rows = []
    keys = ["panel", "line", "step", "init_scale"]
    for key, runs in finals.groupby(keys, sort=False):
        gaps = runs["gap"].dropna().to_numpy(dtype=float)
        value = float(CENTERS[center][1](gaps)) if len(gaps) else np.nan
        rows.append((*key, len(runs), len(runs) - len(gaps), value))
    return pd.DataFrame(rows, columns=[*keys, "seeds", "unusable", "gap"])


def _draw(
    table: pd.DataFrame, style: Mapping[str, Any], label: str, notes: Sequence[str]
) -> Panels:
    """Draw the table with one colour scale for all panels."""
    names = {
        f"{panel}: {line}": (panel, line)
        for panel, line in unique(zip(table["panel"], table["line"], strict=True))
    }
    most = table.groupby(["panel", "line"])["init_scale"].nunique().max()
    height = max(ROW_HEIGHT * int(most), MIN_HEIGHT) * style["font_size"]
    panels = Panels(list(names), style, height=height)
    known = table["gap"].dropna()
    low, high = (known.min(), known.max()) if len(known) else (FLOOR, 1.0)
    norm = LogNorm(low, max(high, 1.001 * low))
    for name, (panel, line) in names.items():
        here = table[(table["panel"] == panel) & (table["line"] == line)]
        _draw_cells(panels.axes(name), here, norm, panels.panel_width)
    panels.label("step", "initial scale $C_0$")
    entries = []
    if (table["unusable"] == table["seeds"]).any():
        entries.append(Patch(facecolor=UNUSABLE_COLOR, label="×: all seeds diverged or failed"))
    if ((table["unusable"] > 0) & (table["unusable"] < table["seeds"])).any():
        notes = [*notes, f"{_marks(panels)}: some seeds diverged or failed"]
    panels.legend(entries, [*notes, *floor_note(table["gap"], FLOOR)])
    mappable = ScalarMappable(norm, colormaps[COLOR_MAP])
    axes = panels.figure.axes
    line = style["font_size"] / POINTS_PER_INCH
    panels.figure.set_figheight(panels.figure.get_figheight() + BAR_LINES * line)
    bar = panels.figure.colorbar(
        mappable,
        ax=axes,
        location="bottom",
        shrink=0.6,
        aspect=40,
        pad=line / panels.figure.get_figheight(),
    )
    bar.set_label(fill(label, 0.9 * panels.figure.get_figwidth()))
    bar.outline.set_linewidth(0.4)
    return panels


def _draw_cells(axes: Axes, table: pd.DataFrame, norm: LogNorm, panel_width: float) -> None:
    """Draw the cells of one panel, with numbers if they fit."""
    import seaborn

    steps = sorted(set(table["step"]))
    scales = sorted(set(table["init_scale"]), reverse=True)  # The smallest scale is at the bottom.
    values = table.pivot(index="init_scale", columns="step", values="gap")
    values = values.reindex(index=scales, columns=steps)
    limits = {"vmin": norm.vmin, "vmax": norm.vmax}
    size = NUMBER_SIZE * rcParams["font.size"]
    cell_width = panel_width * POINTS_PER_INCH / len(steps) / size
    # Ticks are set below. Without labels, seaborn does not make a tick for each step.
    seaborn.heatmap(
        values,
        norm=norm,
        cmap=COLOR_MAP,
        cbar=False,
        linewidths=0.5 if cell_width >= MIN_MARK_WIDTH else 0.0,
        xticklabels=False,
        yticklabels=False,
        ax=axes,
        **limits,
    )
    dots: dict[str, list[tuple[float, float]]] = {}
    numbers = table[["step", "init_scale", "seeds", "unusable", "gap"]].to_numpy(dtype=float)
    for step, scale, seeds, unusable, gap in numbers.tolist():
        x, y = steps.index(step) + 0.5, scales.index(scale) + 0.5
        if unusable == seeds:
            corner = (x - 0.5, y - 0.5)
            axes.add_patch(Rectangle(corner, 1.0, 1.0, color=UNUSABLE_COLOR, linewidth=0))
        color = "black" if unusable == seeds or norm(gap) < 0.5 else "white"
        if cell_width < MIN_MARK_WIDTH:
            if 0 < unusable < seeds:
                dots.setdefault(color, []).append((x, y))
        elif word := _word(gap, unusable > 0, cell_width >= MIN_CELL_WIDTH):
            axes.text(x, y, word, ha="center", va="center", fontsize=size, color=color)
    for color, points in dots.items():
        look = {"marker": ".", "linestyle": "", "markersize": 0.8 * cell_width * size}
        axes.plot(*zip(*points, strict=True), color=color, gid="some", **look)
    for axis, ticks in ((axes.xaxis, steps), (axes.yaxis, scales)):
        words = [_short(tick) for tick in ticks]
        letters = max(map(len, words)) if axis is axes.xaxis else 2
        room = panel_width * POINTS_PER_INCH / (0.6 * letters * rcParams["xtick.labelsize"])
        every = math.ceil(len(ticks) / min(room, MAX_TICKS))
        axis.set_ticks(np.arange(0, len(ticks), every) + 0.5)
        axis.set_ticklabels(words[::every], rotation=0)
    axes.set(xlabel="", ylabel="")
    axes.grid(visible=False)


def _marks(panels: Panels) -> str:
    """Return the marks of cells in which some seeds are unusable."""
    has_dots = any(axes.get_lines() for axes in panels.figure.axes)
    has_letters = any("†" in text.get_text() for axes in panels.figure.axes for text in axes.texts)
    return " or ".join([*(["†"] if has_letters else []), *(["•"] if has_dots else [])])


def _short(number: float) -> str:
    """Return a number in few letters, for example `3.2e-4`."""
    text = f"{number:.0f}" if 10 <= number < 1000 else f"{number:.2g}"
    if len(text) <= 4:
        return text
    digits, _, power = f"{number:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(power)}"


def _word(gap: float, is_partial: bool, is_wide: bool) -> str:
    """Return the text of a cell."""
    if np.isnan(gap):
        return "×"
    mark = "†" if is_partial else ""
    if not is_wide:
        return mark
    return ("≤" if gap <= FLOOR else "") + _short(gap) + mark
