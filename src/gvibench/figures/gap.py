"""Objective gap against iterations."""

from collections.abc import Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis import (
    Configuration,
    Ranking,
    band_over_iterations,
    configurations,
    gap,
    unique,
)
from gvibench.figures.panels import (
    Panels,
    best_note,
    draw_band,
    handle,
    log_gaps,
    looks_of,
    positive_log,
    reference_name,
    scale_iterations,
    seeds_note,
)

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set and one line per solver; return also what was drawn."""
    every = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(every)
    chosen = looks_of(shown)
    gaps = gap(dataset, "objective")
    panels = Panels(unique(one.panel for one in shown), style)
    for one in shown:
        band = log_gaps(band_over_iterations(gaps, one))
        draw_band(panels.axes(one.panel), band, chosen[one.line], one.line)
    for panel in unique(one.panel for one in shown):
        positive_log(panels.axes(panel))
        scale_iterations(panels.axes(panel))
        panels.note_diverged(panel, shown)
    panels.label("iteration", f"objective gap to the {reference_name(dataset)} [nat]")
    handles = [handle(line, look) for line, look in chosen.items()]
    panels.legend(handles, [*seeds_note(dataset), *best_note(every, shown)])
    return panels.figure, shown
