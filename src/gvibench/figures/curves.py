"""Curves of every solver, drawn alike whatever they show and whatever they are drawn against."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gvibench.analysis.bands import Band, band_over_iterations, bands_over_seconds
from gvibench.analysis.configurations import Configuration, configurations, unique, usable
from gvibench.analysis.gaps import gap
from gvibench.analysis.ranking import Ranking
from gvibench.errors import UserError
from gvibench.figures.panels import (
    FLOOR,
    Panels,
    best_note,
    draw_band,
    floor_note,
    handle,
    looks_of,
    positive_log,
    reference_name,
    scale_iterations,
    scale_seconds,
    seeds_note,
    shortened_note,
)

__all__ = [
    "TEST_FLOOR",
    "Axis",
    "draw_gaps",
    "over_iterations",
    "over_seconds",
    "plot_gaps",
    "plot_tests",
]

TEST_FLOOR = 1e-4
"""Test NLL gaps below this are drawn at it: who is best seen reaches zero by definition."""


@dataclass(frozen=True)
class Axis:
    """What curves are drawn against."""

    label: str
    band_of: Callable[[xr.DataArray, Configuration, str], Band]
    """Puts the values of a configuration on the axis."""
    scale: Callable[[Axes], None]
    notes: tuple[str, ...] = ()


def over_iterations() -> Axis:
    """Return the axis of iterations."""
    return Axis("iteration", band_over_iterations, scale_iterations)


def over_seconds(dataset: xr.Dataset) -> Axis:
    """Return the axis of solver time."""
    ends = "lines begin with the first recorded step and end where the first seed stopped"
    return Axis("solver time [s]", bands_over_seconds(dataset), scale_seconds, (ends,))


def plot_gaps(
    dataset: xr.Dataset, style: Mapping[str, Any], axis: Axis
) -> tuple[Figure, list[Configuration]]:
    """Draw the objective gap: one panel per data set and one line per solver."""
    label = f"objective gap to the {reference_name(dataset)} [nat]"
    return _plot(dataset, style, axis, [_Row(gap(dataset, "objective"), label, FLOOR)])


def draw_gaps(axes: Axes, dataset: xr.Dataset, axis: Axis, center: str) -> None:
    """Draw the objective gap of a study with a single panel into given axes."""
    shown = Ranking.of(dataset).best_lines(configurations(dataset))
    if len(names := unique(one.panel for one in shown)) > 1:
        raise UserError(
            f"there are {len(names)} panels to draw ({', '.join(names)}) and one ax: leave out ax, "
            "or choose one data set"
        )
    values, looks = gap(dataset, "objective").clip(min=FLOOR), looks_of(shown)
    for one in shown:
        draw_band(axes, axis.band_of(values, one, center), looks[one.line], one.line)
    positive_log(axes)
    axis.scale(axes)
    axes.set(xlabel=axis.label, ylabel=f"objective gap to the {reference_name(dataset)} [nat]")
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def plot_tests(
    dataset: xr.Dataset, style: Mapping[str, Any], axis: Axis
) -> tuple[Figure, list[Configuration]]:
    """Draw test NLL gap and accuracy; targets of a regression have no accuracy, hence one row."""
    rows = [_Row(gap(dataset, "test_nll"), "test NLL gap, sum [nat]", TEST_FLOOR)]
    accuracy = dataset["test_accuracy"]
    if np.isfinite(accuracy.values[usable(dataset)]).any():
        rows.append(_Row(accuracy, "test accuracy"))
    return _plot(dataset, style, axis, rows, ["gap to the best test NLL seen"])


@dataclass(frozen=True)
class _Row:
    """What one row of panels shows."""

    values: xr.DataArray
    label: str
    floor: float | None = None
    """Of a gap: its axis is logarithmic, and what is below this is drawn at it."""


def _plot(
    dataset: xr.Dataset,
    style: Mapping[str, Any],
    axis: Axis,
    rows: Sequence[_Row],
    notes: Iterable[str] = (),
) -> tuple[Figure, list[Configuration]]:
    every = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(every)
    looks = looks_of(shown)
    names = unique(config.panel for config in shown)
    panels = Panels(names, style, rows=len(rows))
    notes = [*seeds_note(dataset, style), *notes]
    for k, row in enumerate(rows):
        values = row.values
        if row.floor is not None:
            notes += floor_note(values, shown, row.floor)
            # Before the centre is taken: a geometric mean with a zero in it is no number to draw.
            values = values.clip(min=row.floor)
        for config in shown:
            band = axis.band_of(values, config, style["center"])
            draw_band(panels.axes(config.panel, k), band, looks[config.line], config.line)
        for name in names:
            if row.floor is not None:
                positive_log(panels.axes(name, k))
            axis.scale(panels.axes(name, k))
    for name in names:
        panels.note_unusable(name, shown)
    labels = [row.label for row in rows]
    panels.label(axis.label, labels if len(labels) > 1 else labels[0])
    handles = [handle(line, look) for line, look in looks.items()]
    notes += [*best_note(every, shown), *shortened_note(dataset, shown), *axis.notes]
    panels.legend(handles, notes)
    return panels.figure, shown
