"""Define the styles of lines, their legend entries and the scales of their axes."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from gvibench.analysis.configurations import Configuration
from gvibench.figures.style import LineStyle, line_styles, with_dash

__all__ = [
    "FLOOR",
    "dash_lengths",
    "legend_entry",
    "line_styles_of",
    "positive_log",
    "scale_cost",
    "scale_iterations",
    "seaborn_styles",
]

FLOOR = 1e-12
"""Value at which smaller gaps are drawn, because a logarithmic axis cannot show zero."""
MIN_LOG_ITERATIONS = 100
"""Number of iterations from which their axis is logarithmic."""
NARROW_DECADES = 1.5
"""Number of decades up to which an axis has labels between the powers of ten."""


def line_styles_of(configs: Iterable[Configuration]) -> dict[str, LineStyle]:
    """Return the style of each line, in the order of the study."""
    lines: dict[str, list[str]] = {}
    for config in configs:
        solver_lines = lines.setdefault(config.solver, [])
        if config.line not in solver_lines:
            solver_lines.append(config.line)
    styles = line_styles(lines)
    # All lines of a solver have its colour and differ in their dashes.
    return {
        line: with_dash(styles[solver], k)
        for solver, solver_lines in lines.items()
        for k, line in enumerate(solver_lines)
    }


def seaborn_styles(column: str, styles: Mapping[str, LineStyle]) -> dict[str, Any]:
    """Return arguments of seaborn's functions that draw each value of a column in its style."""
    return {
        "hue": column,
        "hue_order": list(styles),
        "palette": {name: style.color for name, style in styles.items()},
        "style": column,
        "style_order": list(styles),
        "dashes": {name: tuple(dash_lengths(style)) or "" for name, style in styles.items()},
    }


def dash_lengths(style: LineStyle) -> list[float]:
    """Return the lengths of dashes and gaps in line widths, empty for a solid line."""
    return [] if isinstance(style.dash, str) else list(style.dash[1])


def legend_entry(line: str, style: LineStyle, *, marker: bool = False) -> Line2D:
    """Return the legend entry of a line."""
    symbol = style.marker if marker else ""
    return Line2D([], [], color=style.color, linestyle=style.dash, marker=symbol, label=line)


def positive_log(axes: Axes) -> None:
    """Make the y axis logarithmic, and write a message if no line has any points."""
    axes.set_yscale("log")
    if not any(len(np.asarray(line.get_ydata())) for line in axes.get_lines()):
        axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center", color="0.35")
        return
    decades = _decades(axes.get_ylim())
    if decades <= NARROW_DECADES:
        few = (
            MaxNLocator(5, steps=[1, 2, 2.5, 5, 10])
            if decades <= NARROW_DECADES / 2
            else LogLocator(subs=(1.0, 2.0, 5.0))
        )
        axes.yaxis.set_major_locator(few)
        axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.yaxis.set_minor_formatter(NullFormatter())


def scale_cost(axes: Axes) -> None:
    """Make the x axis logarithmic, with plain numbers as labels.

    Call this after the limits of the axis are set.
    """
    axes.set_xscale("log")
    # On an axis of one or two decades Matplotlib labels minor ticks, and the labels overlap.
    decades = _decades(axes.get_xlim())
    subs = (1.0, 2.0, 5.0) if decades < 1 else (1.0, 3.0) if decades < 2 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    axes.xaxis.set_minor_formatter(NullFormatter())


def scale_iterations(axes: Axes, last: float) -> None:
    """Make the x axis logarithmic, but including zero, if the figure has many iterations.

    Parameters
    ----------
    axes
        Axes to change.
    last
        Largest number of iterations in any panel, so that all panels have the same scale.
    """
    if last >= MIN_LOG_ITERATIONS:
        axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    axes.set_xlim(left=0)


def _plain(value: float, _: Any) -> str:
    return f"{value:g}"


def _decades(limits: tuple[float, float]) -> float:
    low, high = limits
    return float(np.log10(high / low)) if 0 < low < high else 0.0
