"""Lay out a figure as a grid of panels with titles, notes, axis labels and a legend."""

import contextlib
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend

from gvibench.figures.coincident import hidden_lines
from gvibench.figures.style import WIDTHS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["POINTS_PER_INCH", "Panels", "fill", "relational_panels"]

MAX_COLUMNS = 3
MIN_PANEL_WIDTH, MIN_PANEL_HEIGHT = 0.24, 0.15
"""Minimum width and height of a panel, in inches per point of font size."""
MAX_PANEL_HEIGHT, MAX_ROW_HEIGHT = 2.3, 1.8
"""Maximum heights in inches of the axes of a panel with one row, and of one with several."""
POINTS_PER_INCH = 72
NOTE_SIZE = 0.75
"""Font size of notes, relative to the font size of the figure."""
NOTE_LINE, NOTE_GAP = 1.4, 4.0
"""Height of a line of notes in font sizes, and space around the notes in points."""
PADS = {"w_pad": 0.03, "h_pad": 0.03, "wspace": 0.02, "hspace": 0.03}
"""Spaces between panels: pads in inches, the others as fractions of a panel."""


def relational_panels(
    table: "pd.DataFrame",
    names: Sequence[str],
    style: Mapping[str, Any],
    options: Mapping[str, Any],
    rows: Sequence[tuple[str, str]] = (),
) -> "Panels":
    """Draw a table with seaborn's `relplot` and return its panels.

    Parameters
    ----------
    table
        Table with a column `panel`.
    names
        Names of the panels in the order of drawing. A panel may have no rows in the table.
    style
        Style of the config.
    options
        Arguments of `relplot`.
    rows
        Column and value for each row of axes of a panel, if panels have several.
    """
    count = max(len(rows), 1)
    if table.empty:  # seaborn cannot map colours and facets without data.
        return Panels(names, style, count)
    import seaborn
    from matplotlib import pyplot

    cell = table["panel"] + "\n0"
    for k, (column, value) in enumerate(rows):
        cell = cell.mask(table[column] == value, table["panel"] + f"\n{k}")
    columns = _columns(len(names), style)
    # A notebook or window shows the finished figure only.
    with pyplot.ioff(), _without_tight_layout():
        grid = seaborn.relplot(
            table.assign(cell=cell),
            kind="line",
            col="cell",
            col_order=_cells(names, columns, count),
            col_wrap=columns,
            errorbar=None,
            estimator=None,
            sort=False,
            legend=False,
            facet_kws={"sharex": False, "sharey": False, "despine": False},
            **options,
        )
        pyplot.close(grid.figure)
    return Panels(names, style, count, (grid.figure, grid.axes_dict))


@contextlib.contextmanager
def _without_tight_layout() -> Iterator[None]:
    """Let seaborn not lay out its grids in a context.

    It would do so twice, which takes as long as drawing. `Panels` chooses another layout.
    """
    from seaborn import FacetGrid

    original = FacetGrid.tight_layout
    FacetGrid.tight_layout = lambda self, *args, **options: self
    try:
        yield
    finally:
        FacetGrid.tight_layout = original


class Panels:
    """Figure with a named panel per problem. Each panel has one or more rows of axes.

    Parameters
    ----------
    names
        Names of the panels.
    style
        Style of the config.
    rows
        Number of rows of axes in a panel.
    drawn
        Existing figure and its axes by cell. Without it, the panels are empty.
    height
        Height of the axes in inches. Without it, the height follows from the width.
    """

    def __init__(
        self,
        names: Sequence[str],
        style: Mapping[str, Any],
        rows: int = 1,
        drawn: tuple[Figure, Mapping[str, Axes]] | None = None,
        height: float | None = None,
    ) -> None:
        width, size = WIDTHS[style["width"]], style["font_size"]
        self._columns = _columns(len(names), style)
        self._grid_rows = math.ceil(len(names) / self._columns) * rows
        wanted = min(
            0.72 * width / self._columns, MAX_PANEL_HEIGHT if rows == 1 else MAX_ROW_HEIGHT
        )
        self.panel_height = height or max(wanted, MIN_PANEL_HEIGHT * size)
        self.panel_width = 0.8 * width / self._columns
        self._figure_label = ""
        self._notes: dict[str, list[str]] = {name: [] for name in names}
        cells = _cells(names, self._columns, rows)
        if drawn is None:
            figure = Figure()
            grid = figure.subplots(self._grid_rows, self._columns, squeeze=False)
            drawn = figure, dict(zip(cells, grid.flat, strict=False))
        self.figure, axes_by_cell = drawn
        self.figure.set_size_inches(width, 1.0)
        self.figure.set_layout_engine("constrained", **PADS)
        self._axes_by_panel = {
            name: [axes_by_cell[f"{name}\n{row}"] for row in range(rows)] for name in names
        }
        for name, panel in self._axes_by_panel.items():
            for axes in panel:
                axes.set(title="", xlabel="", ylabel="")
                # Ticks that are added after the theme has ended get the same size.
                axes.tick_params(labelsize=rcParams["xtick.labelsize"])
            panel[0].set_title(self._wrap(name))
        used = {axes for panel in self._axes_by_panel.values() for axes in panel}
        for axes in self.figure.axes:
            if axes not in used:
                axes.remove()

    def axes(self, name: str, row: int = 0) -> Axes:
        """Return the axes of a panel."""
        return self._axes_by_panel[name][row]

    def note(self, name: str, text: str) -> None:
        """Add a small note between a panel and its title. An empty note is ignored."""
        if text:
            self._notes[name].append(text)

    def note_hidden_lines(self, floor: float | None = None, first_row: int = 0) -> None:
        """Add a note to each panel in which a line is hidden under another one.

        Call this after the limits of the axes are set.

        Parameters
        ----------
        floor
            Value at which smaller values are drawn.
        first_row
            First row of axes to check.
        """
        tolerance = rcParams["lines.linewidth"] / (POINTS_PER_INCH * self.panel_height)
        for name, panel in self._axes_by_panel.items():
            pairs = hidden_lines(panel[first_row:], tolerance, floor)
            above: dict[str, list[str]] = {}
            for hidden, topmost in pairs:
                above.setdefault(topmost, []).append(hidden)
            words = [f"{', '.join(hidden)} under {top}" for top, hidden in above.items()]
            self.note(name, "; ".join(words))

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
                    axes.set_ylabel(fill(text, self.panel_height))
        self._figure_label = y if isinstance(y, str) else ""

    def legend(self, handles: Sequence[Artist], notes: Iterable[str] = ()) -> None:
        """Finish the figure: write notes, put a legend below the panels, and set the height.

        Call this last, because the height depends on the titles, labels, notes and the legend.
        """
        for name in self._axes_by_panel:
            self._write_notes(name)
        legend = self._place_legend(handles)
        if text := "; ".join(notes):
            size = rcParams["legend.fontsize"]
            text = fill(text, 0.95 * self.figure.get_figwidth(), size)
            legend.set_title(text, prop=FontProperties(size=size))
            legend.get_title().set_multialignment("center")
        self._set_height(legend.get_window_extent().height / self.figure.dpi)

    def _write_notes(self, name: str) -> None:
        """Write the notes of a panel below its title."""
        if not self._notes[name]:
            return
        size = NOTE_SIZE * rcParams["font.size"]
        text = self._wrap("; ".join(self._notes[name]), size)
        axes = self._axes_by_panel[name][0]
        note_height = NOTE_LINE * size * (text.count("\n") + 1)
        axes.set_title(axes.get_title(), pad=NOTE_GAP + note_height)
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

    def _place_legend(self, handles: Sequence[Artist]) -> Legend:
        """Return a legend with as many columns as fit the width of the figure."""
        width = self.figure.get_figwidth()
        for entry in handles:
            label = fill(str(entry.get_label()), 0.8 * width, rcParams["legend.fontsize"])
            entry.set_label(label)
        columns = max(len(handles), 1)
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
        panels = list(self._axes_by_panel.values())
        height = 1.2 * line
        for start in range(0, len(panels), self._columns):
            block = panels[start : start + self._columns]
            for row in zip(*block, strict=True):
                height += self.panel_height + max(map(_decoration_lines, row)) * line
        self.figure.set_figheight(height + legend_height)
        if self._figure_label:
            length = height - 2.5 * line
            text = fill(self._figure_label, length)
            label = self.figure.supylabel(text, y=1 - 0.5 * length / (height + legend_height))
            label.set_multialignment("center")

    def _wrap(self, text: str, size: float | None = None) -> str:
        return fill(text, self.panel_width, size)


def _columns(count: int, style: Mapping[str, Any]) -> int:
    """Return the number of columns, so that panels are not too narrow and rows are full."""
    fitting = int(WIDTHS[style["width"]] / (MIN_PANEL_WIDTH * style["font_size"]))
    blocks = math.ceil(count / min(max(fitting, 1), MAX_COLUMNS))
    return math.ceil(count / blocks)


def _cells(names: Sequence[str], columns: int, rows: int) -> list[str]:
    """Return the keys of all cells of the grid, row by row. Cells without a panel have no name."""
    cells = []
    for start in range(0, len(names), columns):
        block = [*names[start : start + columns]]
        block += [""] * (columns - len(block) if len(names) > columns else 0)
        for row in range(rows):
            cells += [
                f"{name}\n{row}" if name else f"\n{start},{row},{k}" for k, name in enumerate(block)
            ]
    return cells


def _decoration_lines(axes: Axes) -> float:
    """Return the height of the title, notes, tick labels and x label of axes in lines of text."""
    title = axes.get_title()
    lines = 1.2  # tick labels
    lines += 1.25 * (title.count("\n") + 1) if title else 0.0
    lines += 1.25 * (axes.get_xlabel().count("\n") + 1) if axes.get_xlabel() else 0.0
    for text in axes.texts:
        if text.get_fontsize() == NOTE_SIZE * rcParams["font.size"]:
            lines += NOTE_LINE * NOTE_SIZE * (text.get_text().count("\n") + 1)
    return lines


def fill(text: str, width: float, size: float | None = None) -> str:
    """Break text into lines of similar length that fit a width in inches.

    The width of the text is estimated from an average letter.
    """
    letter = 0.58 * (size or rcParams["font.size"]) / POINTS_PER_INCH
    letters = max(int(width / letter), 8)
    lines = _wrap_at(text, letters)
    for shorter in range(letters - 1, 7, -1):
        balanced = _wrap_at(text, shorter)
        if len(balanced) > len(lines):
            break
        lines = balanced
    return "\n".join(lines)


def _wrap_at(text: str, letters: int) -> list[str]:
    # Breaking at hyphens would split names such as SR-VN.
    return textwrap.wrap(text, letters, break_on_hyphens=False)
