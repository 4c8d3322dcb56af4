"""Claimed bounds beside what was measured, each run with its own constants."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gvibench.analysis.configurations import Configuration, solver_title, unique
from gvibench.analysis.theory_checks import CLAIMS, Measurement, measure
from gvibench.figures.panels import FLOOR, Panels, looks_of, positive_log
from gvibench.figures.style import DASHED

__all__ = ["plot"]

BOUND: dict[str, Any] = {"color": "0.25", "linestyle": DASHED, "linewidth": 0.9}
VIOLATION: dict[str, Any] = {"color": "#B2182B", "marker": "x", "linestyle": "", "zorder": 3}
LINE = 24
"""Letters in a line of the words within a panel."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per configuration that a claim speaks of, a line and a bound per seed."""
    every = [one for one in measure(dataset) if one.configuration.solver_id in CLAIMS]
    shown = unique(one.configuration for one in every)
    names = [_name(one) for one in shown]
    looks = looks_of(shown)
    panels = Panels(names or ["no claim speaks of these solvers"], style)
    for one, name in zip(shown, names, strict=True):
        axes = panels.axes(name)
        here = [each for each in every if each.configuration is one]
        for each in here:
            _draw(axes, each, looks[one.line].color)
        positive_log(axes)
        axes.set_xlim(left=0)  # linear: a rate is a slope, a bound a straight line
        _say_why_not(axes, here)
    panels.label("iteration", "objective gap [nat] or squared Wasserstein distance (BW-GD)")
    colors = {solver_title(one.solver, one.solver_id): looks[one.line].color for one in shown}
    handles = [Line2D([], [], label=title, color=color) for title, color in colors.items()]
    handles.append(Line2D([], [], label="claimed bound", **BOUND))
    if any(one.claim and one.claim.verdict and not one.claim.verdict.held for one in every):
        handles.append(Line2D([], [], label="first violation", **VIOLATION))
    panels.legend(handles)
    return panels.figure, shown


def _name(one: Configuration) -> str:
    # A number stays on the line of its name.
    settings = f"step\u00a0{one.step:g}, $C_0$\u00a0{one.init_scale:g}"
    return f"{one.panel}: {one.line}, {settings}"


def _draw(axes: Axes, one: Measurement, color: str) -> None:
    claim = one.claim
    if claim is None or len(claim.values) == 0:
        return
    values = np.maximum(claim.values, FLOOR)
    axes.plot(claim.iteration, values, color=color, label="measured")
    if claim.bound is None or claim.verdict is None:
        return
    axes.plot(claim.iteration, np.maximum(claim.bound, FLOOR), label="bound", **BOUND)
    if not claim.verdict.held:
        first = claim.iteration == claim.verdict.violated_at
        axes.plot(claim.iteration[first], values[first], label="violation", **VIOLATION)


def _say_why_not(axes: Axes, here: Sequence[Measurement]) -> None:
    """Say in the panel why there is no bound, or no line."""
    reasons = [f"not measured: {one.missing}" for one in here if one.missing]
    reasons += [
        f"not applicable: {one.claim.not_applicable}"
        for one in here
        if one.claim and one.claim.not_applicable
    ]
    if reasons:
        axes.text(
            0.96,
            0.95,
            "\n".join(textwrap.fill(reason, LINE) for reason in unique(reasons)),
            transform=axes.transAxes,
            horizontalalignment="right",
            verticalalignment="top",
            fontsize=0.8 * rcParams["font.size"],
            color="0.25",
        )
