"""Lay out a figure as a grid of panels with titles, notes, axis labels and a legend."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend

from gvibench.figures.style import WIDTHS

__all__ = ["Panels"]

MAX_COLUMNS = 4
MIN_PANEL_WIDTH, MIN_PANEL_HEIGHT = 0.2, 0.12
"""Minimum width and height of a panel, in inches per point of font size."""
MAX_HEIGHT = 8.0
"""Maximum height of all panels of a figure, in inches."""
POINTS_PER_INCH = 72


class Panels:
    """Figure with a named panel per problem. Each panel has one or more rows of axes."""

    def __init__(self, names: Sequence[str], style: Mapping[str, Any], rows: int = 1) -> None:
        width, size = WIDTHS[style["width"]], style["font_size"]
        max_columns = min(max(int(width / (MIN_PANEL_WIDTH * size)), 1), MAX_COLUMNS)
        blocks = math.ceil(len(names) / max_columns)
        self._columns = math.ceil(len(names) / blocks)
        self._grid_rows = blocks * rows
        wanted = min(max(0.72 * width / self._columns, 1.15), 2.3)
        self._panel_height = max(min(wanted, MAX_HEIGHT / self._grid_rows), MIN_PANEL_HEIGHT * size)
        self._figure_label = ""
        self._rows_of_x_labels = 0
        self.figure = Figure(figsize=(width, 1.0), layout="constrained")
        pads = {"w_pad": 0.03, "h_pad": 0.03, "wspace": 0.02, "hspace": 0.03}
        self.figure.get_layout_engine().set(**pads)  # type: ignore[union-attr]
        grid = self.figure.subplots(self._grid_rows, self._columns, squeeze=False)
        self._axes_by_panel: dict[str, list[Axes]] = {}
        for position, name in enumerate(names):
            block, column = divmod(position, self._columns)
            self._axes_by_panel[name] = [grid[block * rows + row, column] for row in range(rows)]
            self._axes_by_panel[name][0].set_title(self._wrap(name))
        used = {axes for panel in self._axes_by_panel.values() for axes in panel}
        for axes in grid.flat:
            if axes not in used:
                axes.remove()

    def axes(self, name: str, row: int = 0) -> Axes:
        """Return the axes of a panel."""
        return self._axes_by_panel[name][row]

    def note(self, name: str, text: str) -> None:
        """Write a small note between a panel and its title. An empty note is ignored."""
        if not text:
            return
        size = 0.75 * rcParams["font.size"]
        text = self._wrap(text, size)
        axes = self._axes_by_panel[name][0]
        note_height = 1.25 * size * (text.count("\n") + 1)
        axes.set_title(axes.get_title(), pad=rcParams["axes.titlepad"] + note_height)
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
        """Label the axes.

        Parameters
        ----------
        x
            One label for the lowest axes of each column, or a label for each row of a panel.
        y
            One label for the whole figure, or a label for each row of a panel.
        """
        for position, panel in enumerate(self._axes_by_panel.values()):
            if not isinstance(x, str):
                for axes, text in zip(panel, x, strict=True):
                    axes.set_xlabel(self._wrap(text))
            elif position + self._columns >= len(self._axes_by_panel):
                panel[-1].set_xlabel(self._wrap(x))
            if not isinstance(y, str) and position % self._columns == 0:
                for axes, text in zip(panel, y, strict=True):
                    axes.set_ylabel(_fill(text, self._panel_height))
        self._rows_of_x_labels = 0 if isinstance(x, str) else self._grid_rows - 1
        self._figure_label = y if isinstance(y, str) else ""

    def legend(self, handles: Sequence[Artist], notes: Iterable[str] = ()) -> None:
        """Finish the figure: put notes and a legend below the panels, and set the height.

        Call this last, because the height depends on the titles, labels and the legend.
        """
        legend = self._place_legend(handles)
        if text := "; ".join(notes):
            size = rcParams["legend.fontsize"]
            text = _fill(text, 0.95 * self.figure.get_figwidth(), size)
            legend.set_title(text, prop=FontProperties(size=size))
            legend.get_title().set_multialignment("center")
        self._set_height(legend.get_window_extent().height / self.figure.dpi)

    def _place_legend(self, handles: Sequence[Artist]) -> Legend:
        """Return a legend with as many columns as fit the width of the figure."""
        width = self.figure.get_figwidth()
        for entry in handles:
            label = _fill(str(entry.get_label()), 0.8 * width, rcParams["legend.fontsize"])
            entry.set_label(label)
        columns = len(handles)
        while True:
            legend = self.figure.legend(
                handles=list(handles),
                loc="outside lower center",
                ncols=columns,
                frameon=False,
                handlelength=2.4,
                columnspacing=1.2,
                borderaxespad=0.2,
            )
            fits = legend.get_window_extent().width <= 0.98 * width * self.figure.dpi
            if fits or columns <= 1:
                return legend
            legend.remove()
            columns -= 1

    def _set_height(self, legend_height: float) -> None:
        """Set the height of the figure and place its common y label beside the panels."""
        line = rcParams["font.size"] / POINTS_PER_INCH
        title_lines = max(
            panel[0].get_title().count("\n") for panel in self._axes_by_panel.values()
        )
        panels_height = self._grid_rows * (self._panel_height + title_lines * line) + 3.5 * line
        panels_height += 1.5 * line * self._rows_of_x_labels
        height = panels_height + legend_height
        self.figure.set_figheight(height)
        if self._figure_label:
            length = panels_height - 2.5 * line
            text = _fill(self._figure_label, length)
            label = self.figure.supylabel(text, y=1 - 0.5 * length / height)
            label.set_multialignment("center")

    def _wrap(self, text: str, size: float | None = None) -> str:
        return _fill(text, 0.8 * self.figure.get_figwidth() / self._columns, size)


def _fill(text: str, width: float, size: float | None = None) -> str:
    """Break text into lines that fit a width in inches, based on an average letter."""
    letter = 0.58 * (size or rcParams["font.size"]) / POINTS_PER_INCH
    # Breaking at hyphens would split names such as SR-VN.
    return textwrap.fill(text, max(int(width / letter), 8), break_on_hyphens=False)
