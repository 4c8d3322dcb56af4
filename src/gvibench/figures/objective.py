"""The objective gap of each solver, drawn alike whatever it is drawn against."""

from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gvibench.analysis import Band, Configuration, Ranking, configurations, gap, unique
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

__all__ = ["plot_gaps"]


def plot_gaps(
    dataset: xr.Dataset,
    style: Mapping[str, Any],
    band_of: Callable[[xr.DataArray, Configuration], Band],
    scale: Callable[[Axes], None],
    x_label: str,
) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set and one line per solver; return also what was drawn.

    `band_of` puts the gaps of a configuration on the x axis, `scale` scales that axis.
    """
    every = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(every)
    looks = looks_of(shown)
    gaps = gap(dataset, "objective")
    names = unique(one.panel for one in shown)
    panels = Panels(names, style)
    for one in shown:
        draw_band(panels.axes(one.panel), log_gaps(band_of(gaps, one)), looks[one.line], one.line)
    for name in names:
        positive_log(panels.axes(name))
        scale(panels.axes(name))
        panels.note_diverged(name, shown)
    panels.label(x_label, f"objective gap to the {reference_name(dataset)} [nat]")
    handles = [handle(line, look) for line, look in looks.items()]
    panels.legend(handles, [*seeds_note(dataset), *best_note(every, shown)])
    return panels.figure, shown
