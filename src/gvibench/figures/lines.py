"""Pass the styles of lines to seaborn and Matplotlib, and set the scales of axes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from gvibench.figures.style import LineStyle, dash_lengths

__all__ = [
    "legend_entry",
    "positive_log",
    "scale_cost",
    "scale_iterations",
    "seaborn_styles",
]

MIN_LOG_ITERATIONS = 100
"""Number of iterations from which their axis is logarithmic."""
NARROW_DECADES = 1.5
"""Number of decades up to which an axis has labels between the powers of ten."""


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


def scale_iterations(axes: Axes, last: float, first: float = 0.0) -> None:
    """Make the x axis logarithmic if the figure has many iterations, including zero if needed.

    Parameters
    ----------
    axes
        Axes to change.
    last
        Largest number of iterations in any panel, so that all panels have the same scale.
    first
        Smallest number, zero for iterations and one for evaluations.
    """
    if last >= MIN_LOG_ITERATIONS:
        if first > 0:
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    axes.set_xlim(left=first if first > 0 else 0)  # NaN without any line


def _plain(value: float, _: Any) -> str:
    return f"{value:g}"


def _decades(limits: tuple[float, float]) -> float:
    low, high = limits
    return float(np.log10(high / low)) if 0 < low < high else 0.0
