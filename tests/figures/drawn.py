"""Draw figures in tests and read their content."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from gvibench.figures.theme import theme
from gvibench.registry import FIGURES

PAGE = {"width": "page", "font_size": 8.0, "center": "median"}
COLUMN = {"width": "column", "font_size": 8.0, "center": "median"}
LAYOUTS = [PAGE, {**COLUMN, "font_size": 12.0}]
"""Styles with the most and the least room."""


def plot(name, dataset, style=PAGE):
    """Return the figure of this name, the configurations that it shows and its table."""
    with theme(style):
        return FIGURES.load(name)(dataset, style)


def lay_out(name, dataset, style=PAGE):
    """Return a figure in which all positions and tick labels are known."""
    with theme(style):
        figure = FIGURES.load(name)(dataset, style).figure
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()
    return figure


def lines(axes):
    """Return the data of all lines by label."""
    return {line.get_label(): np.array(line.get_data()) for line in axes.get_lines()}


def with_gid(axes, gid):
    return [np.array(line.get_data()) for line in axes.get_lines() if line.get_gid() == gid]


def notes(axes):
    """Return the notes of a panel and other texts in it, each in one line."""
    return [" ".join(text.get_text().split()) for text in axes.texts]


def legend_texts(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def legend_title(figure):
    """Return the notes above the entries of a legend in one line."""
    return " ".join(figure.legends[0].get_title().get_text().split())


def assert_nothing_is_cut_or_overlaps(figure):
    page = figure.bbox
    renderer = figure.canvas.get_renderer()
    boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]
    if figure.legends:
        boxes.append(figure.legends[0].get_window_extent(renderer))
    for k, box in enumerate(boxes):
        assert box.x0 >= page.x0 - 1
        assert box.y0 >= page.y0 - 1
        assert box.x1 <= page.x1 + 1
        assert box.y1 <= page.y1 + 1
        for other in boxes[:k]:
            across = min(box.x1, other.x1) - max(box.x0, other.x0)
            along = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert across <= 1 or along <= 1
