"""Seconds per iteration against the number of features, beside two counts of the work."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.scaling import OURS, PAPER, Runtime, Work, exponent, measure
from gvibench.figures.panels import Panels, handle, looks_of
from gvibench.figures.style import DOTTED, Look

__all__ = ["COUNTS", "plot"]

COUNTS = {"the paper's count, update only": PAPER, "our count, with g and H": OURS}
THIN: dict[str, Any] = {"linestyle": DOTTED, "linewidth": 0.9}


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw, for every n, the same times beside either count of the operations."""
    every = configurations(dataset)
    measured = measure(dataset)
    looks = {line: look for line, look in looks_of(every).items() if _of(measured, line)}
    # No run may have completed: two empty panels say so better than none.
    sizes = unique(one.rows for one in measured) or [None]
    names = {
        (rows, title): f"n = {rows}: {title}" if rows else title
        for rows in sizes
        for title in COUNTS
    }
    panels = Panels(list(names.values()), style)
    for (rows, title), name in names.items():
        axes = panels.axes(name)
        _scale(axes)
        for line, look in looks.items():
            points = [one for one in _of(measured, line) if one.rows == rows]
            if points:
                _draw(axes, points, COUNTS[title].get(points[0].solver_id), look)
    _align([panels.axes(name) for name in names.values()])
    panels.label("features d", "solver time per iteration [s]")
    handles = [handle(_label(line, measured), look, marker=True) for line, look in looks.items()]
    label = "operations, scaled to the last point"
    handles.append(Line2D([], [], color="0.35", label=label, **THIN))
    notes = ["mean and min–max over runs", "powers of d fitted to the larger half of the sizes"]
    panels.legend(handles, notes)
    return panels.figure, every


def _of(measured: Sequence[Runtime], line: str) -> list[Runtime]:
    return [one for one in measured if one.line == line]


def _draw(axes: Axes, points: Sequence[Runtime], work: Work | None, look: Look) -> None:
    d = np.array([one.features for one in points])
    low, high = [one.low for one in points], [one.high for one in points]
    axes.fill_between(d, low, high, color=look.color, alpha=0.18, linewidth=0)
    if work is not None:
        last = points[-1]
        scale = last.mean / work(last.rows, last.features)
        counted = [scale * work(last.rows, features) for features in d]
        axes.plot(d, counted, color=look.color, gid="count", **THIN)
    times = [one.mean for one in points]
    (drawn,) = axes.plot(d, times, color=look.color, linestyle=look.dash, label=points[0].line)
    drawn.set_marker(look.marker)


def _scale(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _align(every: Sequence[Axes]) -> None:
    """Give all panels one scale: the counts are to be compared too."""
    limits = [axes.get_ylim() for axes in every]
    for axes in every:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _label(line: str, measured: Sequence[Runtime]) -> str:
    """Return a line's name with the powers of d by which its times grow, one for every n."""
    powers = []
    for rows in unique(one.rows for one in measured):
        points = [one for one in _of(measured, line) if one.rows == rows]
        found = exponent(points, lambda one: one.mean)
        if not math.isnan(found):
            powers.append(f"$d^{{{found:.2f}}}$")
    return f"{line}: {', '.join(powers)}" if powers else line
