"""Test NLL gap and test accuracy, drawn alike whatever they are drawn against."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gvibench.analysis import (
    Band,
    Configuration,
    Ranking,
    completed,
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
    seeds_note,
)

__all__ = ["plot_tests"]

FLOOR = 1e-4
"""Test NLL gaps below this are drawn at it: who is best seen reaches zero by definition."""


def plot_tests(
    dataset: xr.Dataset,
    style: Mapping[str, Any],
    band_of: Callable[[xr.DataArray, Configuration], Band],
    scale: Callable[[Axes], None],
    x_label: str,
) -> tuple[Figure, list[Configuration]]:
    """Draw two panels per data set; targets of a regression have no accuracy, hence one.

    `band_of` puts the values of a configuration on the x axis, `scale` scales that axis.
    """
    every = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(every)
    chosen = looks_of(shown)
    gaps = gap(dataset, "test_nll")
    accuracy = dataset["test_accuracy"]
    has_accuracy = bool(np.isfinite(accuracy.values[completed(dataset)]).any())
    names = unique(one.panel for one in shown)
    panels = Panels(names, style, rows=2 if has_accuracy else 1)
    for one in shown:
        look = chosen[one.line]
        band = log_gaps(band_of(gaps, one), FLOOR)
        draw_band(panels.axes(one.panel), band, look, one.line)
        if has_accuracy:
            band = band_of(accuracy, one)
            draw_band(panels.axes(one.panel, 1), band, look, one.line)
    for name in names:
        positive_log(panels.axes(name))
        for row in range(1 + has_accuracy):
            scale(panels.axes(name, row))
        panels.note_diverged(name, shown)
    labels = ["test NLL gap,\nsum [nat]", "test accuracy"]
    panels.label(x_label, labels[: 1 + has_accuracy])
    handles = [handle(line, look) for line, look in chosen.items()]
    notes = [*seeds_note(dataset), "gap to the best test NLL seen", *best_note(every, shown)]
    panels.legend(handles, notes)
    return panels.figure, shown
