"""The figure: the Fisher-Rao norm of the gradient against iterations."""

from collections.abc import Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis.bands import band_over_iterations
from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.ranking import Ranking
from gvibench.figures.lines import FLOOR, draw_band, legend_entry, line_styles_of, positive_log
from gvibench.figures.notes import unusable_note
from gvibench.figures.panels import Panels

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set and one line per solver. Also return the configurations shown."""
    shown = Ranking.of(dataset).best_lines(configurations(dataset))
    styles = line_styles_of(shown)
    names = unique(config.panel for config in shown)
    panels = Panels(names, style)
    norms = dataset["grad_norm"].clip(min=FLOOR)  # A logarithmic axis cannot show zero.
    for config in shown:
        band = band_over_iterations(norms, config, style["center"])
        draw_band(panels.axes(config.panel), band, styles[config.line], config.line)
    for name in names:
        positive_log(panels.axes(name))
        here = ((config.line, config) for config in shown if config.panel == name)
        panels.note(name, unusable_note(here))
    panels.label("iteration", "norm of the gradient")
    panels.legend([legend_entry(line, line_style) for line, line_style in styles.items()])
    return panels.figure, shown
