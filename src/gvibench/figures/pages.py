"""Save a figure as PDF and split a tall one over several pages."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

__all__ = ["MAX_PAGE_HEIGHT", "fixed_layout", "lay_out", "save_pages"]

MAX_PAGE_HEIGHT = 230 / 25.4
"""Height in inches above which a figure is split over pages."""
SVG_DPI = 72
"""Resolution at which Matplotlib measures the text of SVG files."""
HIDDEN = 1e-4
"""Relative height of the rows that a page does not show."""


def save_pages(figure: Figure, path: Path, metadata: dict[str, Any]) -> None:
    """Save a figure that has a layout as PDF, with as many pages as its height needs.

    Each page has the legend and some rows of panels. A page begins with a row of titles, because
    rows without titles belong to the panels above them.
    """
    pages = _pages(figure)
    with PdfPages(path, metadata=metadata) as pdf:
        if len(pages) <= 1:
            with fixed_layout(figure):
                pdf.savefig(figure)
            return
        height, count = figure.get_figheight(), sum(map(len, pages))
        legend = sum(box.height for box in _legend_boxes(figure)) / figure.dpi
        for rows in pages:
            _show(figure, rows, count)
            figure.set_figheight(legend + (height - legend) * len(rows) / count)
            added = _label_last_row(figure, rows)
            pdf.savefig(figure)
            for axes in added:
                axes.set_xlabel("")
        _show(figure, range(count), count)
        figure.set_figheight(height)


def lay_out(figure: Figure) -> None:
    """Compute the positions of axes, with text of the size that it has in SVG files.

    Save the figure with `fixed_layout` afterwards. Otherwise Matplotlib computes the layout for
    each format, and draws the figure twice.
    """
    engine = figure.get_layout_engine()
    if engine is None:
        return
    canvas, dpi = figure.canvas, figure.dpi
    FigureCanvasSVG(figure)
    figure.set_dpi(SVG_DPI)
    engine.execute(figure)
    figure.set_dpi(dpi)
    figure.set_canvas(canvas)


@contextlib.contextmanager
def fixed_layout(figure: Figure) -> Iterator[None]:
    """Keep the positions of axes in a context, so that saving does not compute them again."""
    engine = figure.get_layout_engine()
    if engine is None:
        yield
        return
    # With the layout engine "none", Matplotlib would still draw the figure twice.
    figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)


def _legend_boxes(figure: Figure) -> list[Any]:
    return [legend.get_window_extent() for legend in figure.legends]


def _panels(figure: Figure) -> list[Axes]:
    """Return the axes of the panels, without colour bars."""
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def _row(axes: Axes) -> int:
    place = axes.get_subplotspec()
    return 0 if place is None else place.rowspan.start


def _pages(figure: Figure) -> list[list[int]]:
    """Return the rows of axes on each page."""
    height = figure.get_figheight()
    grids = {axes.get_gridspec() for axes in _panels(figure)}
    grid = grids.pop() if len(grids) == 1 else None
    if height <= MAX_PAGE_HEIGHT or grid is None:
        return [[0]]
    count = grid.nrows
    titled = {_row(axes) for axes in _panels(figure) if axes.get_title()}
    legend = sum(box.height for box in _legend_boxes(figure)) / figure.dpi
    room = max(int((MAX_PAGE_HEIGHT - legend) / ((height - legend) / count)), 1)
    starts = sorted(titled | {0})
    blocks = [list(range(a, b)) for a, b in zip(starts, [*starts[1:], count], strict=True)]
    pages = _distribute(blocks, room)
    # Pages of similar length look better than a last page with a single row.
    for shorter in range(room - 1, 0, -1):
        balanced = _distribute(blocks, shorter)
        if len(balanced) > len(pages):
            break
        pages = balanced
    return pages


def _distribute(blocks: Sequence[list[int]], room: int) -> list[list[int]]:
    """Return the blocks of rows on pages with up to `room` rows. A block is never divided."""
    pages: list[list[int]] = [[]]
    for block in blocks:
        if pages[-1] and len(pages[-1]) + len(block) > room:
            pages.append([])
        pages[-1] = [*pages[-1], *block]
    return pages


def _label_last_row(figure: Figure, rows: Sequence[int]) -> list[Axes]:
    """Label the x axes of the last row of a page, and return the axes that had no label."""
    labels = {axes.get_xlabel() for axes in _panels(figure)} - {""}
    if len(labels) != 1:
        return []
    bare = [axes for axes in _panels(figure) if _row(axes) == rows[-1] and not axes.get_xlabel()]
    label = labels.pop()
    for axes in bare:
        axes.set_xlabel(label)
    return bare


def _show(figure: Figure, rows: Sequence[int] | range, count: int) -> None:
    """Show only the given rows of axes."""
    shown = set(rows)
    for axes in _panels(figure):
        axes.set_visible(_row(axes) in shown)
        axes.set_in_layout(_row(axes) in shown)
    grid = _panels(figure)[0].get_gridspec()
    assert grid is not None
    grid.set_height_ratios([1.0 if row in shown else HIDDEN for row in range(count)])
