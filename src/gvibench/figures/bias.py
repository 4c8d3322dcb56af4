"""What the piecewise bound costs against exact expectations, by its number of pieces."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from gvibench.analysis.bands import CENTERS
from gvibench.analysis.configurations import Configuration, Floats, configurations, unique
from gvibench.analysis.gaps import final
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
    shown = _lowest(every, [_bound(dataset, one) for one in every], above[BOUND])
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
                bounds[tuple(one.runs)][0]: above[quantity][one.usable]
                for one in here
                if bounds[tuple(one.runs)][1] == degree and len(one.usable)
            }
            _draw(
                axes, dict(sorted(points.items())), look, _label(degree, quantity), style["center"]
            )
        positive_log(axes)
        axes.set_xscale("log")
        pieces = sorted({bounds[tuple(one.runs)][0] for one in here})
        axes.set_xticks(pieces, map(str, pieces))
        axes.xaxis.set_minor_locator(NullLocator())
        failed = [" ".join(map(str, bounds[tuple(one.runs)])) for one in here if one.unusable]
        if failed:
            panels.note(name, "diverged or failed: " + ", ".join(failed))
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


def _lowest(
    every: Sequence[Configuration], bounds: Sequence[tuple[int, str]], values: Floats
) -> list[Configuration]:
    """Return, for each bound, the configuration that ends with the lowest median value."""

    def middle(config: Configuration) -> float:
        return float(np.median(values[config.usable])) if len(config.usable) else np.inf

    lowest: dict[tuple[Any, ...], Configuration] = {}
    for config, bound in zip(every, bounds, strict=True):
        key = (_panel(config), *bound)
        if key not in lowest or middle(config) < middle(lowest[key]):
            lowest[key] = config
    return list(lowest.values())


def _bound(dataset: xr.Dataset, one: Configuration) -> tuple[int, str]:
    spec = json.loads(dataset["spec"].values[one.runs[0]])
    return spec["pieces"], spec["piece_degree"]


def _panel(one: Configuration) -> str:
    return one.panel_without("pieces", "piece_degree")


def _label(degree: str, quantity: str) -> str:
    return f"{degree}: {quantity}"


def _draw(
    axes: Axes, points: Mapping[int, Floats], look: Look, label: str, center_name: str
) -> None:
    at = list(points)
    center, low, high = (
        [reduce(np.maximum(values, FLOOR)) for values in points.values()]
        for reduce in (CENTERS[center_name][1], np.min, np.max)
    )
    axes.fill_between(at, low, high, color=look.color, alpha=0.18, linewidth=0)
    (drawn,) = axes.plot(at, center, color=look.color, linestyle=look.dash, label=label)
    drawn.set_marker(look.marker)


def _notes(dataset: xr.Dataset, shown: Sequence[Configuration]) -> list[str]:
    """Say how near the runs came to the optimum of the bound they descended."""
    left = final(dataset["objective"].values) - dataset["optimum_objective"].values
    ends = np.concatenate([left[one.usable] for one in shown])
    if not len(ends):
        return []
    nearness = max(ends.max(), FLOOR)
    return [f"where runs ended: within {nearness:.1g} nat of the optimum of their bound"]
