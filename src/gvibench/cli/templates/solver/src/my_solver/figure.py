"""The figure: the Fisher-Rao norm of the gradient against iterations."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from gvibench.analysis.bands import band_table
from gvibench.analysis.configurations import configurations, unique
from gvibench.analysis.ranking import Ranking
from gvibench.figures.bands import band_panels, visible
from gvibench.figures.drawing import Drawing
from gvibench.figures.lines import legend_entry, positive_log
from gvibench.figures.notes import unusable_note
from gvibench.figures.style import FLOOR, line_styles_of

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw one panel per data set and one line per solver.

    The table of the drawing becomes the CSV file of the figure, so draw nothing but its rows.
    """
    shown = Ranking.of(dataset).best_lines(configurations(dataset))
    norms = dataset["grad_norm"].clip(min=FLOOR)  # A logarithmic axis cannot show zero.
    table = band_table(norms, shown, style["center"]).rename(columns={"at": "iteration"})
    styles = line_styles_of(shown)
    names = unique(config.panel for config in shown)
    panels = band_panels(table, "iteration", names, styles, style)
    for name in names:
        positive_log(panels.axes(name))
        here = ((config.line, config) for config in shown if config.panel == name)
        panels.note(name, unusable_note(here))
    panels.label("iteration", "norm of the gradient")
    panels.legend([legend_entry(line, look) for line, look in visible(table, styles).items()])
    return Drawing(panels.figure, shown, table)
