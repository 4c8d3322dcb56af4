"""Draw claimed bounds beside the measured values, each run with its own constants."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gvibench.analysis.configurations import Configuration, Runs, solver_title, unique
from gvibench.analysis.theory_checks import CLAIMS, Measurement, measure
from gvibench.figures.drawing import Drawing
from gvibench.figures.lines import positive_log, seaborn_styles
from gvibench.figures.notes import floor_note
from gvibench.figures.panels import Panels, relational_panels
from gvibench.figures.style import DASHED, FLOOR, SOLID, LineStyle, line_styles_of
from gvibench.figures.thinning import MAX_POINTS

__all__ = ["BOUND", "MEASURED", "VIOLATION", "plot"]

MEASURED, BOUND, VIOLATION = "measured", "claimed bound", "first violation"
"""Values of the column `quantity`."""
BOUND_STYLE = LineStyle("#404040", DASHED, "")
CROSS: dict[str, Any] = {"color": "#B2182B", "marker": "x", "linestyle": "", "zorder": 3}
LINE_LENGTH = 24
"""Number of characters per line of text within a panel."""
LABELS = {
    "objective gap": "objective gap [nat]",
    "squared Wasserstein distance": "squared $W_2$ distance",
}


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw one panel per configuration with a claim, and a line and a bound per seed."""
    measurements = [run for run in measure(dataset) if run.configuration.solver_id in CLAIMS]
    shown = unique(run.configuration for run in measurements)
    titles = {config: solver_title(dataset, config.solver, config.solver_id) for config in shown}
    styles = {
        titles[config]: LineStyle(look.color, SOLID, look.marker)
        for config in shown
        for look in [line_styles_of(shown)[config.line]]
    }
    table = _table(measurements, titles)
    panels = _draw(table, [_name(config) for config in shown], styles, style)
    for config in shown:
        runs = [run for run in measurements if run.configuration is config]
        _write_reasons(panels.axes(_name(config)), runs)
    return Drawing(panels.figure, shown, table)


def _table(
    measurements: Sequence[Measurement], titles: Mapping[Configuration, str]
) -> pd.DataFrame:
    """Return a row for each measured value, bound and first violation."""
    columns = ["panel", "line", "quantity", "unit", "seed", "iteration", "value"]
    parts = []
    for run in measurements:
        claim = run.claim
        if claim is None or len(claim.values) == 0:
            continue
        curves = {MEASURED: (claim.iteration, claim.values)}
        if claim.bound is not None and claim.verdict is not None:
            curves[BOUND] = (claim.iteration, claim.bound)
            if not claim.verdict.held:
                first = claim.iteration == claim.verdict.violated_at
                curves[VIOLATION] = (claim.iteration[first], claim.values[first])
        for quantity, (iteration, values) in curves.items():
            part = pd.DataFrame({"iteration": iteration, "value": np.maximum(values, FLOOR)})
            part = part.iloc[_kept(len(part))]
            name, title = _name(run.configuration), titles[run.configuration]
            known = {"panel": name, "line": title, "quantity": quantity, "unit": claim.quantity}
            parts.append(part.assign(**known, seed=run.seed)[columns])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _kept(count: int) -> Runs:
    """Return the positions of at most `MAX_POINTS` points that are evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, MAX_POINTS)).round().astype(np.intp))


def _draw(
    table: pd.DataFrame,
    names: Sequence[str],
    styles: Mapping[str, LineStyle],
    style: Mapping[str, Any],
) -> Panels:
    """Draw the table: measured values in the colour of the solver, bounds in grey."""
    lines = table[table["quantity"] != VIOLATION]
    look = lines["line"].where(lines["quantity"] == MEASURED, BOUND)
    present = set(look)
    looks = {
        name: value for name, value in {**styles, BOUND: BOUND_STYLE}.items() if name in present
    }
    options = {"x": "iteration", "y": "value", "units": "seed", **seaborn_styles("look", looks)}
    names = list(names) or ["no claim covers these solvers"]
    panels = relational_panels(lines.assign(look=look), names, style, options)
    panels.label("iteration", "")
    for name in names:
        axes, here = panels.axes(name), table[table["panel"] == name]
        axes.set_ylabel(", ".join(LABELS.get(unit, unit) for unit in unique(here["unit"])))
        _name_lines(axes, here, looks)
        crossed = here[here["quantity"] == VIOLATION]
        if len(crossed):
            axes.plot(crossed["iteration"], crossed["value"], label=VIOLATION, **CROSS)
        positive_log(axes)
        axes.set_xlim(left=0)  # On a linear axis, bounds are straight lines and rates are slopes.
    entries = [
        Line2D([], [], label=name, color=value.color, linestyle=value.dash)
        for name, value in looks.items()
    ]
    if (table["quantity"] == VIOLATION).any():
        entries.append(Line2D([], [], label=VIOLATION, **CROSS))
    several = len(unique(table["seed"])) > 1
    notes = ["one line and one bound for each seed"] if several else []
    panels.legend(entries, [*notes, *floor_note(table["value"], FLOOR)])
    return panels


def _name_lines(axes: Axes, table: pd.DataFrame, looks: Mapping[str, LineStyle]) -> None:
    """Label the lines that seaborn has drawn: for each look, one line per seed."""
    quantities = [
        BOUND if look == BOUND else MEASURED
        for look in looks
        for rows in [
            table[table["quantity"] == BOUND]
            if look == BOUND
            else table[(table["quantity"] == MEASURED) & (table["line"] == look)]
        ]
        for _ in range(rows["seed"].nunique())
    ]
    for artist, quantity in zip(axes.get_lines(), quantities, strict=True):
        artist.set_label(quantity)


def _name(config: Configuration) -> str:
    # No-break spaces keep a number and its name on one line.
    settings = f"step\u00a0{config.step:g}, $C_0$\u00a0{config.init_scale:g}"
    return f"{config.panel}: {config.line}, {settings}"


def _write_reasons(axes: Axes, runs: Sequence[Measurement]) -> None:
    """Write into the panel why it has no bound or no line."""
    reasons = [f"not measured: {run.missing}" for run in runs if run.missing]
    reasons += [
        f"no bound: {run.claim.not_applicable}"
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
