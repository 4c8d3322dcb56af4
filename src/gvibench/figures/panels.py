"""What the figures share: a grid of panels, axes for gaps and iterations, bands and a legend."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from gvibench.analysis.bands import CENTERS, Band
from gvibench.analysis.configurations import Configuration, unique
from gvibench.figures.style import WIDTHS, Look, looks, redashed
from gvibench.spec.endings import UNUSABLE

__all__ = [
    "FLOOR",
    "Panels",
    "best_note",
    "draw_band",
    "floor_note",
    "handle",
    "log_gaps",
    "looks_of",
    "positive_log",
    "reference_name",
    "scale_iterations",
    "scale_seconds",
    "seeds_note",
    "shortened_note",
    "unusable_words",
]

FLOOR = 1e-12
"""A logarithmic axis has no zero: gaps below this are drawn at it."""
MOST_COLUMNS = 4
NARROWEST, LOWEST = 0.2, 0.12
"""Least width and height of a panel, in inches per point of type."""
WIDE_RANGE = 100
"""From this many iterations on the axis is logarithmic."""
PAGE_HEIGHT = 8.0
"""What the panels of a figure may take of a page, in inches."""
POINTS_PER_INCH = 72


class Panels:
    """A figure with a panel per name, each of one or more rows of axes."""

    def __init__(self, names: Sequence[str], style: Mapping[str, Any], rows: int = 1) -> None:
        width, size = WIDTHS[style["width"]], style["font_size"]
        most = min(max(int(width / (NARROWEST * size)), 1), MOST_COLUMNS)
        blocks = math.ceil(len(names) / most)
        self._columns = math.ceil(len(names) / blocks)
        self._height = blocks * rows
        wanted = min(max(0.72 * width / self._columns, 1.15), 2.3)
        self._panel_height = max(min(wanted, PAGE_HEIGHT / self._height), LOWEST * size)
        self._side = ""
        self._labels_between = 0
        self.figure = Figure(figsize=(width, 1.0), layout="constrained")
        pads = {"w_pad": 0.03, "h_pad": 0.03, "wspace": 0.02, "hspace": 0.03}
        self.figure.get_layout_engine().set(**pads)  # type: ignore[union-attr]
        grid = self.figure.subplots(self._height, self._columns, squeeze=False)
        self._of_panel: dict[str, list[Axes]] = {}
        for place, name in enumerate(names):
            block, column = divmod(place, self._columns)
            self._of_panel[name] = [grid[block * rows + row, column] for row in range(rows)]
            self._of_panel[name][0].set_title(self._wrap(name))
        used = {axes for of_panel in self._of_panel.values() for axes in of_panel}
        for axes in grid.flat:
            if axes not in used:
                axes.remove()

    def axes(self, name: str, row: int = 0) -> Axes:
        """Return the axes of a panel."""
        return self._of_panel[name][row]

    def note_unusable(self, name: str, shown: Iterable[Configuration]) -> None:
        """Note below a panel's title which lines stand for fewer seeds than were run, and why."""
        here = [(config.line, config) for config in shown if config.panel == name]
        if text := unusable_words(here):
            self.note(name, text)

    def note(self, name: str, text: str) -> None:
        """Put a small note between a panel and its title."""
        size = 0.75 * rcParams["font.size"]
        text = self._wrap(text, size)
        axes = self._of_panel[name][0]
        above = 1.25 * size * (text.count("\n") + 1)
        axes.set_title(axes.get_title(), pad=rcParams["axes.titlepad"] + above)
        axes.annotate(
            text,
            (0.5, 1.0),
            (0.0, 2.0),
            xycoords="axes fraction",
            textcoords="offset points",
            horizontalalignment="center",
            verticalalignment="bottom",
            fontsize=size,
            color="0.35",
        )

    def label(self, x: str | Sequence[str], y: str | Sequence[str]) -> None:
        """Name the axes: x below every column or every row, y beside the figure or every row."""
        for place, of_panel in enumerate(self._of_panel.values()):
            if not isinstance(x, str):
                for axes, text in zip(of_panel, x, strict=True):
                    axes.set_xlabel(self._wrap(text))
            elif place + self._columns >= len(self._of_panel):
                of_panel[-1].set_xlabel(self._wrap(x))
            if not isinstance(y, str) and place % self._columns == 0:
                for axes, text in zip(of_panel, y, strict=True):
                    axes.set_ylabel(_fill(text, self._panel_height))
        self._labels_between = 0 if isinstance(x, str) else self._height - 1
        self._side = y if isinstance(y, str) else ""

    def legend(self, handles: Sequence[Artist], notes: Iterable[str] = ()) -> None:
        """Put a legend below the panels, in as many columns as fit, and settle the height.

        Notes stand above the entries.
        """
        width, size = self.figure.get_figwidth(), rcParams["legend.fontsize"]
        for entry in handles:
            entry.set_label(_fill(str(entry.get_label()), 0.8 * width, size))
        for columns in range(len(handles), 0, -1):
            legend = self.figure.legend(
                handles=list(handles),
                loc="outside lower center",
                ncols=columns,
                frameon=False,
                handlelength=2.4,
                columnspacing=1.2,
                borderaxespad=0.2,
            )
            if legend.get_window_extent().width <= 0.98 * width * self.figure.dpi or columns == 1:
                break
            legend.remove()
        if notes := list(notes):
            text = _fill("; ".join(notes), 0.95 * width, size)
            legend.set_title(text, prop=FontProperties(size=size))
            legend.get_title().set_multialignment("center")
        below = legend.get_window_extent().height / self.figure.dpi
        line = rcParams["font.size"] / POINTS_PER_INCH
        titles = max(axes[0].get_title().count("\n") for axes in self._of_panel.values())
        above = self._height * (self._panel_height + titles * line) + 3.5 * line
        above += 1.5 * line * self._labels_between
        self.figure.set_figheight(above + below)
        if self._side:
            centre = 1 - 0.5 * (above - 2.5 * line) / (above + below)
            label = self.figure.supylabel(_fill(self._side, above - 2.5 * line), y=centre)
            label.set_multialignment("center")

    def _wrap(self, text: str, size: float | None = None) -> str:
        return _fill(text, 0.8 * self.figure.get_figwidth() / self._columns, size)


def _fill(text: str, width: float, size: float | None = None) -> str:
    """Break text into lines that fit a width in inches, by the width of a usual letter."""
    letter = 0.58 * (size or rcParams["font.size"]) / POINTS_PER_INCH
    # Names such as SR-VN stay in one piece.
    return textwrap.fill(text, max(int(width / letter), 8), break_on_hyphens=False)


def looks_of(drawn: Iterable[Configuration]) -> dict[str, Look]:
    """Return how each line is drawn, in the order of the study."""
    lines: dict[str, list[str]] = {}
    for one in drawn:
        of_solver = lines.setdefault(one.solver, [])
        if one.line not in of_solver:
            of_solver.append(one.line)
    chosen = looks(lines)
    # A solver keeps its colour; what else varies shows in the dashes.
    return {
        line: redashed(chosen[solver], k)
        for solver, of_solver in lines.items()
        for k, line in enumerate(of_solver)
    }


def handle(line: str, look: Look, *, marker: bool = False) -> Line2D:
    """Return a legend's entry."""
    symbol = look.marker if marker else ""
    return Line2D([], [], color=look.color, linestyle=look.dash, marker=symbol, label=line)


def draw_band(axes: Axes, band: Band, look: Look, line: str) -> None:
    """Draw the centre as a line and from minimum to maximum as a band."""
    if len(band.at):
        axes.fill_between(band.at, band.low, band.high, color=look.color, alpha=0.18, linewidth=0)
        axes.plot(band.at, band.center, color=look.color, linestyle=look.dash, label=line)


def log_gaps(band: Band, floor: float = FLOOR) -> Band:
    """Return the band as a logarithmic axis can show it."""
    return Band(band.at, *(np.maximum(part, floor) for part in (band.center, band.low, band.high)))


def positive_log(axes: Axes) -> None:
    """Make y logarithmic, also when there is little or nothing to show."""
    axes.set_yscale("log")
    if not any(len(np.asarray(line.get_ydata())) for line in axes.get_lines()):
        axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center", color="0.35")


def scale_seconds(axes: Axes) -> None:
    """Scale an axis of solver time."""
    axes.set_xscale("log")
    # Over a decade or two Matplotlib names the ticks between, and the names run into each other.
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if _decades(axes) < 2 else (1.0,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _decades(axes: Axes) -> float:
    low, high = axes.get_xlim()
    return float(np.log10(high / low)) if 0 < low < high else 0.0


def scale_iterations(axes: Axes) -> None:
    """Make x logarithmic, with a place for zero, if there are many iterations."""
    _, last = axes.get_xlim()
    if last >= WIDE_RANGE:
        axes.set_xscale("symlog", linthresh=1, linscale=0.4)
    axes.set_xlim(left=0)


def reference_name(dataset: xr.Dataset) -> str:
    """Say what the gaps of the objective are measured from."""
    known = np.isfinite(dataset["optimum_objective"].values)
    if dataset.attrs["gap"] != "optimum" or not known.any():
        return "best seen"
    return "optimum" if known.all() else "optimum or best seen"


def best_note(every: Sequence[Configuration], shown: Sequence[Configuration]) -> list[str]:
    """Say so if a line stands for the best of several steps and initial scales."""
    if len(shown) < len(every):
        return ["each solver at its best step and initial scale"]
    return []


def seeds_note(dataset: xr.Dataset, style: Mapping[str, Any]) -> list[str]:
    """Return what line and band mean if there are several seeds."""
    count = len(unique(dataset["seed"].values.tolist()))
    return [f"{CENTERS[style['center']][0]} and min–max over {count} seeds"] if count > 1 else []


def unusable_words(named: Sequence[tuple[str, Configuration]]) -> str:
    """Return which lines have seeds that diverged or failed, and how many."""
    parts = []
    for status in UNUSABLE:
        words = [
            f"{name} {config.endings[status]}/{len(config.runs)}"
            for name, config in named
            if config.endings[status]
        ]
        if words:
            parts.append(f"{status}: {', '.join(words)}")
    return "; ".join(parts)


def floor_note(values: xr.DataArray, shown: Iterable[Configuration], floor: float) -> list[str]:
    """Return that gaps below the floor are drawn at it, if there are any."""
    if any((values.values[config.usable] < floor).any() for config in shown):
        return [f"gaps below {floor:g} are drawn at {floor:g}"]
    return []


def shortened_note(dataset: xr.Dataset, shown: Sequence[Configuration]) -> list[str]:
    """Return which lines end before the longest one of their panel, because their runs do."""
    done = np.asarray(dataset["iterations_done"].values)
    longest = {config: int(done[config.usable].max()) for config in shown if len(config.usable)}
    words = []
    for config, last in longest.items():
        limit = max(other for one, other in longest.items() if one.panel == config.panel)
        if last < limit:
            words.append(f"{config.line} ends at {last} of {limit} iterations")
    return unique(words)
