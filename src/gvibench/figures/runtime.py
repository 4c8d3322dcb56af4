"""Draw seconds per iteration against the number of features, with two operation counts."""

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
from gvibench.figures.lines import legend_entry, line_styles_of
from gvibench.figures.panels import Panels
from gvibench.figures.style import DOTTED, LineStyle

__all__ = ["COUNTS", "plot"]

COUNTS = {"the paper's count, update only": PAPER, "our count, with g and H": OURS}
COUNT_STYLE: dict[str, Any] = {"linestyle": DOTTED, "linewidth": 0.9}


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw two panels for each n, with the same times and one of the operation counts each."""
    configs = configurations(dataset)
    runtimes = measure(dataset)
    styles = {
        line: line_style
        for line, line_style in line_styles_of(configs).items()
        if _of_line(runtimes, line)
    }
    # If no run completed, the figure has two empty panels.
    sizes = unique(runtime.rows for runtime in runtimes) or [None]
    names = {
        (rows, title): f"n = {rows}: {title}" if rows else title
        for rows in sizes
        for title in COUNTS
    }
    panels = Panels(list(names.values()), style)
    for (rows, title), name in names.items():
        axes = panels.axes(name)
        _scale(axes)
        for line, line_style in styles.items():
            points = [runtime for runtime in _of_line(runtimes, line) if runtime.rows == rows]
            if points:
                _draw(axes, points, COUNTS[title].get(points[0].solver_id), line_style)
    _share_limits([panels.axes(name) for name in names.values()])
    panels.label("features d", "solver time per iteration [s]")
    entries = [
        legend_entry(_label(line, runtimes), line_style, marker=True)
        for line, line_style in styles.items()
    ]
    label = "operations, scaled to the last point"
    entries.append(Line2D([], [], color="0.35", label=label, **COUNT_STYLE))
    notes = ["mean and min–max over runs", "powers of d fitted to the larger half of the sizes"]
    panels.legend(entries, notes)
    return panels.figure, configs


def _of_line(runtimes: Sequence[Runtime], line: str) -> list[Runtime]:
    return [runtime for runtime in runtimes if runtime.line == line]


def _draw(axes: Axes, points: Sequence[Runtime], work: Work | None, style: LineStyle) -> None:
    d = np.array([point.features for point in points])
    low, high = [point.low for point in points], [point.high for point in points]
    axes.fill_between(d, low, high, color=style.color, alpha=0.18, linewidth=0)
    if work is not None:
        last = points[-1]
        scale = last.mean / work(last.rows, last.features)
        counted = [scale * work(last.rows, features) for features in d]
        axes.plot(d, counted, color=style.color, gid="count", **COUNT_STYLE)
    axes.plot(
        d,
        [point.mean for point in points],
        color=style.color,
        linestyle=style.dash,
        marker=style.marker,
        label=points[0].line,
    )


def _scale(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _share_limits(panels: Sequence[Axes]) -> None:
    """Give all panels the same y limits, so that the counts can be compared."""
    limits = [axes.get_ylim() for axes in panels]
    for axes in panels:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _label(line: str, runtimes: Sequence[Runtime]) -> str:
    """Return the name of a line with the power of d of its time for each n."""
    powers = []
    for rows in unique(runtime.rows for runtime in runtimes):
        points = [runtime for runtime in _of_line(runtimes, line) if runtime.rows == rows]
        power = exponent(points, lambda point: point.mean)
        if not math.isnan(power):
            powers.append(f"$d^{{{power:.2f}}}$")
    return f"{line}: {', '.join(powers)}" if powers else line
