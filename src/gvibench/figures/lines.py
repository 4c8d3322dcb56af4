"""Draw lines and bands of solvers, and scale the axes for them."""

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from gvibench.analysis.bands import Band
from gvibench.analysis.configurations import Configuration
from gvibench.figures.style import LineStyle, line_styles, with_dash

__all__ = [
    "FLOOR",
    "draw_band",
    "legend_entry",
    "line_styles_of",
    "positive_log",
    "scale_iterations",
    "scale_seconds",
]

FLOOR = 1e-12
"""Value at which smaller gaps are drawn, because a logarithmic axis cannot show zero."""
MIN_LOG_ITERATIONS = 100
"""Number of iterations from which their axis is logarithmic."""


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


def legend_entry(line: str, style: LineStyle, *, marker: bool = False) -> Line2D:
    """Return the legend entry of a line."""
    symbol = style.marker if marker else ""
    return Line2D([], [], color=style.color, linestyle=style.dash, marker=symbol, label=line)


def draw_band(axes: Axes, band: Band, style: LineStyle, line: str, *, marker: bool = False) -> None:
    """Draw the centre as a line, and the range from minimum to maximum as a band."""
    if len(band.at):
        axes.fill_between(band.at, band.low, band.high, color=style.color, alpha=0.18, linewidth=0)
        symbol = style.marker if marker else ""
        axes.plot(
            band.at,
            band.center,
            color=style.color,
            linestyle=style.dash,
            marker=symbol,
            label=line,
        )


def positive_log(axes: Axes) -> None:
    """Make the y axis logarithmic, and write a message if no line has any points."""
    axes.set_yscale("log")
    if not any(len(np.asarray(line.get_ydata())) for line in axes.get_lines()):
        axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center", color="0.35")


def scale_seconds(axes: Axes) -> None:
    """Make the x axis logarithmic in seconds."""
    axes.set_xscale("log")
    # On an axis of one or two decades Matplotlib labels minor ticks, and the labels overlap.
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if _decades(axes) < 2 else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _decades(axes: Axes) -> float:
    low, high = axes.get_xlim()
    return float(np.log10(high / low)) if 0 < low < high else 0.0


def scale_iterations(axes: Axes) -> None:
    """Make the x axis logarithmic, but including zero, if there are many iterations."""
    _, last = axes.get_xlim()
    if last >= MIN_LOG_ITERATIONS:
        axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    axes.set_xlim(left=0)
