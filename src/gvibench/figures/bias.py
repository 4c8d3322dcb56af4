"""What the piecewise bound costs against exact expectations, by its number of pieces."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from gvibench.analysis import Configuration, Floats, configurations, final, unique
from gvibench.errors import UserError
from gvibench.figures.panels import FLOOR, Panels, handle, positive_log
from gvibench.figures.style import DASHED, SOLID, Dash, Look

__all__ = ["plot"]

COLORS = {"linear": "#D55E00", "quadratic": "#0072B2"}
BOUND, COST = "bound", "exact objective"
QUANTITIES: dict[str, tuple[Dash, str]] = {BOUND: (SOLID, "o"), COST: (DASHED, "s")}
"""What is shown for either degree, and how."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set: where runs on a bound end, above the exact optimum.

    The value of the bound there is how far it lies above; the value of the exact objective is
    what it costs to have descended the bound. Of several solvers and steps on one bound the one
    is shown that came to its lowest value.
    """
    every = _on_bounds(dataset)
    optimum = np.asarray(dataset["optimum_objective_exact"].values)
    above = {
        BOUND: final(dataset["objective"].values) - optimum,
        COST: final(dataset["objective_exact"].values) - optimum,
    }
    shown = _lowest(every, above[BOUND])
    bounds = {tuple(one.runs): _bound(dataset, one) for one in shown}
    looks = {
        (degree, quantity): Look(color, *how)
        for degree, color in COLORS.items()
        if any(degree == found for _, found in bounds.values())
        for quantity, how in QUANTITIES.items()
    }
    names = unique(_panel(one) for one in shown)
    panels = Panels(names, style)
    for name in names:
        axes = panels.axes(name)
        here = [one for one in shown if _panel(one) == name]
        for (degree, quantity), look in looks.items():
            points = {
                bounds[tuple(one.runs)][0]: above[quantity][one.completed]
                for one in here
                if bounds[tuple(one.runs)][1] == degree and len(one.completed)
            }
            _draw(axes, dict(sorted(points.items())), look, _label(degree, quantity))
        positive_log(axes)
        axes.set_xscale("log")
        pieces = sorted({bounds[tuple(one.runs)][0] for one in here})
        axes.set_xticks(pieces, map(str, pieces))
        axes.xaxis.set_minor_locator(NullLocator())
        failed = [" ".join(map(str, bounds[tuple(one.runs)])) for one in here if one.diverged]
        if failed:
            panels.note(name, "diverged: " + ", ".join(failed))
    panels.label("pieces", "above the exact optimum [nat]")
    handles = [handle(_label(*key), look, marker=True) for key, look in looks.items()]
    panels.legend(handles, _notes(dataset, shown))
    return panels.figure, shown


def _on_bounds(dataset: xr.Dataset) -> list[Configuration]:
    if "objective_exact" not in dataset or "optimum_objective_exact" not in dataset:
        raise UserError(
            "the figure 'bias' needs exact values: set record: [objective_exact] and gap: optimum"
        )
    found = [
        one
        for one in configurations(dataset)
        if dataset["expectation"].values[one.runs[0]] == "piecewise"
    ]
    if not found:
        raise UserError("the figure 'bias' needs runs with expectation 'piecewise'")
    return found


def _lowest(every: Sequence[Configuration], values: Floats) -> list[Configuration]:
    """Return, for each bound, the configuration that ends with the lowest mean value."""

    def mean(one: Configuration) -> float:
        return float(np.mean(values[one.completed])) if len(one.completed) else np.inf

    return [
        min((one for one in every if one.panel == panel), key=mean)
        for panel in unique(one.panel for one in every)
    ]


def _bound(dataset: xr.Dataset, one: Configuration) -> tuple[int, str]:
    spec = json.loads(dataset["spec"].values[one.runs[0]])
    return spec["pieces"], spec["piece_degree"]


def _panel(one: Configuration) -> str:
    return one.panel_without("pieces", "piece_degree")


def _label(degree: str, quantity: str) -> str:
    return f"{degree}: {quantity}"


def _draw(axes: Axes, points: Mapping[int, Floats], look: Look, label: str) -> None:
    at = list(points)
    mean, low, high = (
        np.maximum([reduce(values) for values in points.values()], FLOOR)
        for reduce in (np.mean, np.min, np.max)
    )
    axes.fill_between(at, low, high, color=look.color, alpha=0.18, linewidth=0)
    (drawn,) = axes.plot(at, mean, color=look.color, linestyle=look.dash, label=label)
    drawn.set_marker(look.marker)


def _notes(dataset: xr.Dataset, shown: Sequence[Configuration]) -> list[str]:
    """Say how near the runs came to the optimum of the bound they descended."""
    left = final(dataset["objective"].values) - dataset["optimum_objective"].values
    ends = np.concatenate([left[one.completed] for one in shown])
    if not len(ends):
        return []
    nearness = max(ends.max(), FLOOR)
    return [f"at the optimum of the bound, to which runs come within {nearness:.1g} nat"]
