"""Draw curves of all solvers against their cost or solver time: `gap`, `test` and their like."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from gvibench.analysis.bands import band_table
from gvibench.analysis.configurations import Configuration, configurations, unique, usable
from gvibench.analysis.costs import COSTS, Cost, cost_of
from gvibench.analysis.gaps import final_values, gap
from gvibench.analysis.ranking import Ranking
from gvibench.errors import UserError
from gvibench.figures.bands import band_panels, draw_bands, largest, visible
from gvibench.figures.drawing import Drawing
from gvibench.figures.limits import leave_out_start, needs_log, widen_shares
from gvibench.figures.lines import legend_entry, positive_log, scale_cost, scale_iterations
from gvibench.figures.notes import (
    best_note,
    floor_note,
    oscillation_note,
    other_limits_note,
    reference_name,
    seeds_note,
    shortened_note,
    unusable_note,
)
from gvibench.figures.panels import Panels
from gvibench.figures.style import FLOOR, LineStyle, line_styles_of
from gvibench.figures.thinning import thin

__all__ = [
    "draw_gap",
    "plot_gap",
    "plot_gap_over_time",
    "plot_test_metrics",
    "plot_test_metrics_over_time",
]

TIME = COSTS["seconds"]
TIME_NOTE = "lines begin with the first recorded step and end where the first seed stopped"


@dataclass(frozen=True)
class _Quantity:
    """Quantity shown in one row of panels."""

    name: str
    """Value of the column `quantity` of the table."""
    values: xr.DataArray
    label: str
    floor: float | None = None
    """Value at which smaller gaps are drawn on a logarithmic axis, None for other quantities."""
    is_share: bool = False
    """Whether the values are shares, which have a linear axis."""


def plot_gap(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the objective gap against the cost, one panel per problem and one line per solver."""
    return _plot(dataset, style, cost_of(dataset), [_gap_of(dataset)])


def plot_gap_over_time(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the objective gap against solver time."""
    return _plot(dataset, style, TIME, [_gap_of(dataset)])


def plot_test_metrics(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the test NLL and the test accuracy against the cost."""
    return _plot(dataset, style, cost_of(dataset), _test_metrics(dataset))


def plot_test_metrics_over_time(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the test NLL and the test accuracy against solver time."""
    return _plot(dataset, style, TIME, _test_metrics(dataset))


def draw_gap(axes: Axes, dataset: xr.Dataset, center: str) -> None:
    """Draw the objective gap of a study with a single problem into the given axes."""
    shown = Ranking.of(dataset).best_lines(configurations(dataset))
    if len(names := unique(config.panel for config in shown)) > 1:
        raise UserError(
            f"there are {len(names)} panels to draw ({', '.join(names)}) and one ax: leave out ax, "
            "or choose one data set"
        )
    quantity, cost = _gap_of(dataset), cost_of(dataset)
    table, _ = _table(dataset, shown, cost, [quantity], center)
    styles = visible(table, line_styles_of(shown))
    draw_bands(axes, table, cost.curve, styles)
    positive_log(axes)
    scale_iterations(axes, largest(table, cost.curve), table[cost.curve].min())
    axes.set(xlabel=cost.axis, ylabel=quantity.label)
    if styles:
        axes.legend(handles=[legend_entry(line, look) for line, look in styles.items()])


def _gap_of(dataset: xr.Dataset) -> _Quantity:
    label = f"objective gap to the {reference_name(dataset)} [nat]"
    return _Quantity("objective gap", gap(dataset, "objective"), label, FLOOR)


def _test_metrics(dataset: xr.Dataset) -> list[_Quantity]:
    """Return the test metrics, without the accuracy if the target is continuous."""
    metrics = [_Quantity("test NLL", dataset["test_nll"], "test NLL, sum [nat]")]
    accuracy = final_values(dataset["test_accuracy"])
    if np.isfinite(accuracy[usable(dataset)]).any():
        metrics.append(
            _Quantity("test accuracy", dataset["test_accuracy"], "test accuracy", is_share=True)
        )
    return metrics


def _plot(
    dataset: xr.Dataset, style: Mapping[str, Any], cost: Cost, quantities: Sequence[_Quantity]
) -> Drawing:
    configs = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(configs)
    table, oscillating = _table(dataset, shown, cost, quantities, style["center"])
    names = unique(config.panel for config in shown)
    unusable = {
        name: unusable_note((config.line, config) for config in shown if config.panel == name)
        for name in names
    }
    notes = [*seeds_note(dataset, style), *oscillation_note(oscillating)]
    if quantities[0].floor is not None:
        notes += floor_note(table["low"], quantities[0].floor)
    notes += [*best_note(configs, shown), *shortened_note(dataset, shown)]
    notes += [TIME_NOTE] if cost is TIME else []
    if quantities[0].floor is not None:
        notes += other_limits_note(dataset, shown)
    panels = _draw(table, cost, quantities, line_styles_of(shown), style, unusable, notes)
    return Drawing(panels.figure, shown, table)


def _table(
    dataset: xr.Dataset,
    shown: Sequence[Configuration],
    cost: Cost,
    quantities: Sequence[_Quantity],
    center: str,
) -> tuple[pd.DataFrame, list[str]]:
    """Return the bands of all lines, and the names of lines that oscillate."""
    x, clock = cost.curve, dataset[cost.curve]
    parts, oscillating = [], []
    for quantity in quantities:
        values = quantity.values
        if quantity.floor is not None:
            # Values are clipped first because a geometric mean with a zero cannot be drawn.
            values = values.clip(min=quantity.floor)
        part = band_table(values, shown, center, clock, is_time=cost is TIME)
        part = part.rename(columns={"at": x})
        part, lines = thin(part, x)
        oscillating += lines
        if len(quantities) > 1:
            part.insert(1, "quantity", quantity.name)
        parts.append(part)
    return pd.concat(parts, ignore_index=True), unique(oscillating)


def _draw(
    table: pd.DataFrame,
    cost: Cost,
    quantities: Sequence[_Quantity],
    styles: Mapping[str, LineStyle],
    style: Mapping[str, Any],
    panel_notes: Mapping[str, str],
    notes: Iterable[str],
) -> Panels:
    """Draw the table, one panel per problem with one row of axes per quantity."""
    names, x = list(panel_notes), cost.curve
    rows = [quantity.name for quantity in quantities] if len(quantities) > 1 else []
    panels = band_panels(table, x, names, styles, style, rows)
    is_cut = False
    for k, quantity in enumerate(quantities):
        values = table[table["quantity"] == quantity.name] if rows else table
        is_gap = quantity.floor is not None
        is_log = is_gap or (not quantity.is_share and needs_log(values))
        for name in names:
            axes = panels.axes(name, k)
            if cost is TIME:
                scale_cost(axes)
            else:
                scale_iterations(axes, largest(table, x), table[x].min())
            if is_log:
                axes.set_yscale("log")
            if not is_gap:
                is_cut |= leave_out_start(axes, values[values["panel"] == name], x)
            if is_log:
                positive_log(axes)
            elif quantity.is_share:
                widen_shares(axes)
    for name, note in panel_notes.items():
        panels.note(name, note)
    panels.note_hidden_lines(quantities[0].floor)
    labels = [quantity.label for quantity in quantities]
    panels.label(cost.axis, labels if len(labels) > 1 else labels[0])
    cut_note = ["y axes leave out the start of some lines and parts of bands"] if is_cut else []
    entries = [legend_entry(line, look) for line, look in visible(table, styles).items()]
    panels.legend(entries, [*notes, *cut_note])
    return panels
