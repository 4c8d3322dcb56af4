"""The figure: the Fisher-Rao norm of the gradient against iterations."""

from collections.abc import Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis.bands import band_over_iterations
from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.ranking import Ranking
from gvibench.figures.panels import Panels, draw_band, handle, log_gaps, looks_of, positive_log

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set and one line per solver; return also what was drawn."""
    shown = Ranking.of(dataset).best_lines(configurations(dataset))
    looks = looks_of(shown)
    names = unique(one.panel for one in shown)
    panels = Panels(names, style)
    for one in shown:
        band = log_gaps(band_over_iterations(dataset["grad_norm"], one, style["center"]))
        draw_band(panels.axes(one.panel), band, looks[one.line], one.line)
    for name in names:
        positive_log(panels.axes(name))
        panels.note_unusable(name, shown)
    panels.label("iteration", "norm of the gradient")
    panels.legend([handle(line, look) for line, look in looks.items()])
    return panels.figure, shown
