"""Draw the bias of the piecewise bound against exact expectations, by its number of pieces."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from gvibench.analysis.bands import band_at
from gvibench.analysis.configurations import Configuration, Floats, configurations, unique
from gvibench.analysis.gaps import final
from gvibench.errors import UserError
from gvibench.figures.lines import FLOOR, draw_band, legend_entry, positive_log
from gvibench.figures.panels import Panels
from gvibench.figures.style import DASHED, SOLID, Dash, LineStyle

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


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw the final values of runs on a bound above the exact optimum, one panel per data set.

    The final value of the bound shows how far the bound lies above the exact objective. The final
    value of the exact objective shows the cost of minimising the bound instead. For each bound,
    the figure shows the solver and step that reached the lowest value.
    """
    bounds = _minimised_bounds(dataset)
    optimum = np.asarray(dataset["optimum_objective_exact"].values)
    values = {
        BOUND: final(dataset["objective"].values) - optimum,
        EXACT: final(dataset["objective_exact"].values) - optimum,
    }
    shown = _lowest(bounds, values[BOUND])
    styles = {
        (degree, quantity): LineStyle(color, *QUANTITIES[quantity])
        for degree, color in COLORS.items()
        if any(bound.degree == degree for bound in shown)
        for quantity in QUANTITIES
    }
    names = unique(bound.panel for bound in shown)
    panels = Panels(names, style)
    for name in names:
        here = [bound for bound in shown if bound.panel == name]
        axes = panels.axes(name)
        for (degree, quantity), line_style in styles.items():
            drawn = [bound for bound in here if bound.degree == degree and len(bound.config.usable)]
            drawn.sort(key=lambda bound: bound.pieces)
            groups = [np.maximum(values[quantity][bound.config.usable], FLOOR) for bound in drawn]
            band = band_at([bound.pieces for bound in drawn], groups, style["center"])
            draw_band(axes, band, line_style, _label(degree, quantity), marker=True)
        _scale(axes, sorted({bound.pieces for bound in here}))
        failed = [f"{bound.pieces} {bound.degree}" for bound in here if bound.config.unusable]
        panels.note(name, "diverged or failed: " + ", ".join(failed) if failed else "")
    panels.label("pieces", "above the exact optimum [nat]")
    entries = [
        legend_entry(_label(*key), line_style, marker=True) for key, line_style in styles.items()
    ]
    configs = [bound.config for bound in shown]
    panels.legend(entries, _notes(dataset, configs))
    return panels.figure, configs


def _minimised_bounds(dataset: xr.Dataset) -> list[_Bound]:
    """Return the bounds of all configurations, or raise UserError if there are none."""
    if "objective_exact" not in dataset or "optimum_objective_exact" not in dataset:
        raise UserError(
            "the figure 'bias' needs exact values: set record: [objective_exact] and gap: optimum"
        )
    bounds = []
    for config in configurations(dataset):
        if dataset["expectation"].values[config.runs[0]] == "piecewise":
            spec = json.loads(dataset["spec"].values[config.runs[0]])
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


def _label(degree: str, quantity: str) -> str:
    return f"{degree}: {quantity}"


def _scale(axes: Axes, pieces: Sequence[int]) -> None:
    positive_log(axes)
    axes.set_xscale("log")
    axes.set_xticks(pieces, map(str, pieces))
    axes.xaxis.set_minor_locator(NullLocator())


def _notes(dataset: xr.Dataset, shown: Sequence[Configuration]) -> list[str]:
    """Return a note on the largest distance of a bound from the optimum of its bound."""
    gaps = final(dataset["objective"].values) - dataset["optimum_objective"].values
    finals = np.concatenate([gaps[config.usable] for config in shown])
    if not len(finals):
        return []
    distance = max(finals.max(), FLOOR)
    return [f"runs ended within {distance:.1g} nat of the optimum of their bound"]
