"""Objective gap against solver time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis import (
    Configuration,
    Ranking,
    band_over_seconds,
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
    seeds_note,
)

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set; a line ends where its first seed stopped."""
    every = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(every)
    chosen = looks_of(shown)
    gaps = gap(dataset, "objective")
    seconds = np.asarray(dataset["seconds"].values)
    names = unique(one.panel for one in shown)
    panels = Panels(names, style)
    for one in shown:
        band = log_gaps(band_over_seconds(gaps, seconds, one))
        draw_band(panels.axes(one.panel), band, chosen[one.line], one.line)
    for name in names:
        positive_log(panels.axes(name))
        panels.axes(name).set_xscale("log")
        panels.note_diverged(name, shown)
    panels.label("solver time [s]", f"objective gap to the {reference_name(dataset)} [nat]")
    handles = [handle(line, look) for line, look in chosen.items()]
    panels.legend(handles, [*seeds_note(dataset), *best_note(every, shown)])
    return panels.figure, shown
