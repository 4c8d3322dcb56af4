"""Draw curves of all solvers against iterations or solver time: `gap`, `test` and their like."""

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
from gvibench.figures.lines import (
    FLOOR,
    draw_band,
    legend_entry,
    line_styles_of,
    positive_log,
    scale_iterations,
    scale_seconds,
)
from gvibench.figures.notes import (
    best_note,
    floor_note,
    reference_name,
    seeds_note,
    shortened_note,
    unusable_note,
)
from gvibench.figures.panels import Panels

__all__ = [
    "TEST_FLOOR",
    "draw_gap",
    "plot_gap",
    "plot_gap_over_time",
    "plot_test_metrics",
    "plot_test_metrics_over_time",
]

TEST_FLOOR = 1e-4
"""Value at which smaller test NLL gaps are drawn, because the best run reaches zero."""


@dataclass(frozen=True)
class _Axis:
    """Horizontal axis of curves."""

    label: str
    band_of: Callable[[xr.DataArray, Configuration, str], Band]
    """Function that computes the band of a configuration along the axis."""
    scale: Callable[[Axes], None]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Row:
    """Quantity shown in one row of panels."""

    values: xr.DataArray
    label: str
    floor: float | None = None
    """Value at which smaller gaps are drawn on a logarithmic axis, None for a linear axis."""


ITERATIONS = _Axis("iteration", band_over_iterations, scale_iterations)


def _seconds(dataset: xr.Dataset) -> _Axis:
    note = "lines begin with the first recorded step and end where the first seed stopped"
    return _Axis("solver time [s]", bands_over_seconds(dataset), scale_seconds, (note,))


def plot_gap(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw the objective gap against iterations, one panel per problem and one line per solver."""
    return _plot(dataset, style, ITERATIONS, [_gap_row(dataset)])


def plot_gap_over_time(
    dataset: xr.Dataset, style: Mapping[str, Any]
) -> tuple[Figure, list[Configuration]]:
    """Draw the objective gap against solver time."""
    return _plot(dataset, style, _seconds(dataset), [_gap_row(dataset)])


def plot_test_metrics(
    dataset: xr.Dataset, style: Mapping[str, Any]
) -> tuple[Figure, list[Configuration]]:
    """Draw the test NLL gap and the test accuracy against iterations."""
    return _plot(dataset, style, ITERATIONS, _test_rows(dataset), TEST_NOTES)


def plot_test_metrics_over_time(
    dataset: xr.Dataset, style: Mapping[str, Any]
) -> tuple[Figure, list[Configuration]]:
    """Draw the test NLL gap and the test accuracy against solver time."""
    return _plot(dataset, style, _seconds(dataset), _test_rows(dataset), TEST_NOTES)


def draw_gap(axes: Axes, dataset: xr.Dataset, center: str) -> None:
    """Draw the objective gap of a study with a single problem into the given axes."""
    shown = Ranking.of(dataset).best_lines(configurations(dataset))
    if len(names := unique(config.panel for config in shown)) > 1:
        raise UserError(
            f"there are {len(names)} panels to draw ({', '.join(names)}) and one ax: leave out ax, "
            "or choose one data set"
        )
    row, styles = _gap_row(dataset), line_styles_of(shown)
    values = row.values.clip(min=row.floor)
    for config in shown:
        band = ITERATIONS.band_of(values, config, center)
        draw_band(axes, band, styles[config.line], config.line)
    positive_log(axes)
    ITERATIONS.scale(axes)
    axes.set(xlabel=ITERATIONS.label, ylabel=row.label)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()


def _gap_row(dataset: xr.Dataset) -> _Row:
    label = f"objective gap to the {reference_name(dataset)} [nat]"
    return _Row(gap(dataset, "objective"), label, FLOOR)


TEST_NOTES = ("gap to the best test NLL seen",)


def _test_rows(dataset: xr.Dataset) -> list[_Row]:
    """Return the rows of test metrics, without the accuracy if the target is continuous."""
    rows = [_Row(gap(dataset, "test_nll"), "test NLL gap, sum [nat]", TEST_FLOOR)]
    accuracy = dataset["test_accuracy"]
    if np.isfinite(accuracy.values[usable(dataset)]).any():
        rows.append(_Row(accuracy, "test accuracy"))
    return rows


def _plot(
    dataset: xr.Dataset,
    style: Mapping[str, Any],
    axis: _Axis,
    rows: Sequence[_Row],
    notes: Iterable[str] = (),
) -> tuple[Figure, list[Configuration]]:
    configs = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(configs)
    styles = line_styles_of(shown)
    names = unique(config.panel for config in shown)
    panels = Panels(names, style, rows=len(rows))
    notes = [*seeds_note(dataset, style), *notes]
    for k, row in enumerate(rows):
        values = row.values
        if row.floor is not None:
            notes += floor_note(values, shown, row.floor)
            # Values are clipped first because a geometric mean with a zero cannot be drawn.
            values = values.clip(min=row.floor)
        for config in shown:
            band = axis.band_of(values, config, style["center"])
            draw_band(panels.axes(config.panel, k), band, styles[config.line], config.line)
        for name in names:
            if row.floor is not None:
                positive_log(panels.axes(name, k))
            axis.scale(panels.axes(name, k))
    for name in names:
        here = ((config.line, config) for config in shown if config.panel == name)
        panels.note(name, unusable_note(here))
    labels = [row.label for row in rows]
    panels.label(axis.label, labels if len(labels) > 1 else labels[0])
    entries = [legend_entry(line, line_style) for line, line_style in styles.items()]
    notes += [*best_note(configs, shown), *shortened_note(dataset, shown), *axis.notes]
    panels.legend(entries, notes)
    return panels.figure, shown
