"""Draw the bias of the piecewise bound against exact expectations, by its number of pieces."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from gvibench.analysis.configurations import Configuration, Floats, configurations
from gvibench.analysis.gaps import final_values
from gvibench.errors import UserError
from gvibench.figures.drawing import Drawing
from gvibench.figures.lines import legend_entry, positive_log
from gvibench.figures.notes import floor_note, seeds_note
from gvibench.figures.panels import Panels
from gvibench.figures.seeds import draw_seeds
from gvibench.figures.style import DASHED, FLOOR, SOLID, Dash, LineStyle

__all__ = ["plot"]

COLORS = {"linear": "#D55E00", "quadratic": "#0072B2"}
BOUND, EXACT = "bound", "exact objective"
QUANTITIES: dict[str, tuple[Dash, str]] = {BOUND: (SOLID, "o"), EXACT: (DASHED, "s")}
"""Dash and marker of the quantities that are shown for each degree."""


class _Bound(NamedTuple):
    """Piecewise bound and a configuration that minimises it."""

    config: Configuration
    pieces: int
    degree: str

    @property
    def panel(self) -> str:
        return self.config.panel_without("pieces", "piece_degree")


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the final values of runs on a bound above the exact optimum, one panel per data set.

    The final value of the bound shows how far the bound lies above the exact objective. The final
    value of the exact objective shows the cost of minimising the bound instead. For each bound,
    the figure shows the solver and step that reached the lowest value.
    """
    bounds = _minimised_bounds(dataset)
    optimum = np.asarray(dataset["optimum_objective_exact"].values)
    values = {
        BOUND: final_values(dataset["objective"]) - optimum,
        EXACT: final_values(dataset["objective_exact"]) - optimum,
    }
    shown = _lowest(bounds, values[BOUND])
    table = _table(shown, values, dataset["seed"].values.tolist())
    failed: dict[str, list[str]] = {}
    for bound in shown:
        failed.setdefault(bound.panel, [])
        if bound.config.unusable:
            failed[bound.panel].append(f"{bound.pieces} {bound.degree}")
    configs = [bound.config for bound in shown]
    notes = [*seeds_note(dataset, style), *_notes(dataset, configs)]
    return Drawing(_draw(table, failed, style, notes).figure, configs, table)


def _table(
    shown: Sequence[_Bound], values: Mapping[str, Floats], seeds: Sequence[int]
) -> pd.DataFrame:
    """Return a row for each bound, quantity and seed."""
    rows = [
        (bound.panel, bound.degree, quantity, bound.pieces, seeds[run], max(finals[run], FLOOR))
        for quantity, finals in values.items()
        for bound in shown
        for run in bound.config.usable
    ]
    columns = ["panel", "degree", "quantity", "pieces", "seed", "above_optimum"]
    return pd.DataFrame(rows, columns=columns)


def _draw(
    table: pd.DataFrame,
    failed: Mapping[str, Sequence[str]],
    style: Mapping[str, Any],
    notes: Sequence[str],
) -> Panels:
    """Draw the table, one panel per data set."""
    panels = Panels(list(failed), style)
    entries = {}
    for name, bounds in failed.items():
        axes = panels.axes(name)
        here = table[table["panel"] == name]
        for degree, color in COLORS.items():
            for quantity, (dash, marker) in QUANTITIES.items():
                part = here[(here["degree"] == degree) & (here["quantity"] == quantity)]
                look, label = LineStyle(color, dash, marker), f"{degree}: {quantity}"
                if len(part):
                    entries[label] = legend_entry(label, look, marker=True)
                draw_seeds(
                    axes,
                    part,
                    "pieces",
                    "above_optimum",
                    style["center"],
                    label,
                    color=color,
                    linestyle=dash,
                    marker=marker,
                )
        _scale(axes, sorted(set(here["pieces"])))
        panels.note(name, "diverged or failed: " + ", ".join(bounds) if bounds else "")
    panels.note_hidden_lines(FLOOR)
    panels.label("pieces", "above the exact optimum [nat]")
    panels.legend(list(entries.values()), [*notes, *floor_note(table["above_optimum"], FLOOR)])
    return panels


def _minimised_bounds(dataset: xr.Dataset) -> list[_Bound]:
    """Return the bounds of all configurations, or raise UserError if there are none."""
    if "objective_exact" not in dataset or "optimum_objective_exact" not in dataset:
        raise UserError(
            "the figure 'bias' needs exact values: set record: [objective_exact] and gap: optimum"
        )
    bounds = []
    for config in configurations(dataset):
        if dataset["expectation"].values[config.runs[0]] == "piecewise":
            spec = config.spec
            bounds.append(_Bound(config, spec["pieces"], spec["piece_degree"]))
    if not bounds:
        raise UserError("the figure 'bias' needs runs with expectation 'piecewise'")
    return bounds


def _lowest(bounds: Sequence[_Bound], values: Floats) -> list[_Bound]:
    """Return, for each bound, the configuration with the lowest median value."""

    def median(bound: _Bound) -> float:
        usable = bound.config.usable
        return float(np.median(values[usable])) if len(usable) else np.inf

    lowest: dict[tuple[str, int, str], _Bound] = {}
    for bound in bounds:
        key = (bound.panel, bound.pieces, bound.degree)
        if key not in lowest or median(bound) < median(lowest[key]):
            lowest[key] = bound
    return list(lowest.values())


def _scale(axes: Axes, pieces: Sequence[int]) -> None:
    positive_log(axes)
    axes.set_xscale("log")
    axes.set_xticks(pieces, map(str, pieces))
    axes.xaxis.set_minor_locator(NullLocator())


def _notes(dataset: xr.Dataset, shown: Sequence[Configuration]) -> list[str]:
    """Return a note on the largest distance of a bound from the optimum of its bound."""
    gaps = final_values(dataset["objective"]) - dataset["optimum_objective"].values
    finals = np.concatenate([gaps[config.usable] for config in shown])
    if not len(finals):
        return []
    distance = max(finals.max(), FLOOR)
    return [f"runs ended within {distance:.1g} nat of the optimum of their bound"]
