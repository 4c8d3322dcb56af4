"""Draw claimed bounds beside the measured values, each run with its own constants."""

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
from gvibench.figures.lines import FLOOR, line_styles_of, positive_log
from gvibench.figures.panels import Panels
from gvibench.figures.style import DASHED

__all__ = ["plot"]

BOUND: dict[str, Any] = {"color": "0.25", "linestyle": DASHED, "linewidth": 0.9}
VIOLATION: dict[str, Any] = {"color": "#B2182B", "marker": "x", "linestyle": "", "zorder": 3}
LINE_LENGTH = 24
"""Number of characters per line of text within a panel."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per configuration with a claim, and a line and a bound per seed."""
    measurements = [run for run in measure(dataset) if run.configuration.solver_id in CLAIMS]
    shown = unique(run.configuration for run in measurements)
    names = [_name(config) for config in shown]
    styles = line_styles_of(shown)
    panels = Panels(names or ["no claim covers these solvers"], style)
    for config, name in zip(shown, names, strict=True):
        axes = panels.axes(name)
        runs = [run for run in measurements if run.configuration is config]
        for run in runs:
            _draw(axes, run, styles[config.line].color)
        positive_log(axes)
        axes.set_xlim(left=0)  # On a linear axis, bounds are straight lines and rates are slopes.
        _write_reasons(axes, runs)
    panels.label("iteration", "objective gap [nat] or squared Wasserstein distance (BW-GD)")
    colors = {
        solver_title(dataset, config.solver, config.solver_id): styles[config.line].color
        for config in shown
    }
    entries = [Line2D([], [], label=title, color=color) for title, color in colors.items()]
    entries.append(Line2D([], [], label="claimed bound", **BOUND))
    if any(run.claim and run.claim.verdict and not run.claim.verdict.held for run in measurements):
        entries.append(Line2D([], [], label="first violation", **VIOLATION))
    panels.legend(entries)
    return panels.figure, shown


def _name(config: Configuration) -> str:
    # No-break spaces keep a number and its name on one line.
    settings = f"step\u00a0{config.step:g}, $C_0$\u00a0{config.init_scale:g}"
    return f"{config.panel}: {config.line}, {settings}"


def _draw(axes: Axes, run: Measurement, color: str) -> None:
    claim = run.claim
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


def _write_reasons(axes: Axes, runs: Sequence[Measurement]) -> None:
    """Write into the panel why it has no bound or no line."""
    reasons = [f"not measured: {run.missing}" for run in runs if run.missing]
    reasons += [
        f"not applicable: {run.claim.not_applicable}"
        for run in runs
        if run.claim and run.claim.not_applicable
    ]
    if reasons:
        axes.text(
            0.96,
            0.95,
            "\n".join(textwrap.fill(reason, LINE_LENGTH) for reason in unique(reasons)),
            transform=axes.transAxes,
            horizontalalignment="right",
            verticalalignment="top",
            fontsize=0.8 * rcParams["font.size"],
            color="0.25",
        )
