"""Draw the effect of the temperature gamma on convergence and on final test metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from gvibench.analysis.bands import band_table
from gvibench.analysis.configurations import Configuration, configurations, unique, usable
from gvibench.analysis.gaps import final_values, gap
from gvibench.analysis.ranking import Ranking
from gvibench.figures.bands import draw_bands, largest, visible
from gvibench.figures.drawing import Drawing
from gvibench.figures.limits import widen_shares
from gvibench.figures.lines import legend_entry, positive_log, scale_iterations
from gvibench.figures.notes import (
    best_note,
    floor_note,
    oscillation_note,
    reference_name,
    seeds_note,
    shortened_note,
    unusable_note,
)
from gvibench.figures.panels import Panels
from gvibench.figures.seeds import draw_seeds
from gvibench.figures.style import DASHES, FLOOR, PALETTE, LineStyle, line_styles_of
from gvibench.figures.thinning import thin

__all__ = ["colors", "plot"]

MAX_BRIGHTNESS = 0.85
"""Upper end of the colour map in use, because its yellow end is hard to see on white."""
GAP = "objective gap"
ACCURACY = "test_accuracy"
METRICS = {"test_nll": "final test NLL, sum [nat]", ACCURACY: "final test accuracy"}
MAX_LINEAR_RATIO = 50.0
"""Ratio of the largest to the smallest positive temperature up to which their axis is linear."""
MARKER_SIZE = 12


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw one column per data set, one colour per temperature and one line style per solver."""
    configs = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(configs)
    gammas = np.asarray(dataset["gamma"].values)
    gaps, oscillating = _gaps(dataset, shown, style["center"])
    metrics = [name for name in METRICS if np.isfinite(_finals(dataset, name)).any()]
    finals = pd.concat([_final_rows(dataset, shown, name) for name in metrics] or [gaps[:0]])
    table = pd.concat([part for part in (gaps, finals) if len(part)] or [gaps], ignore_index=True)
    panel_notes = {
        name: unusable_note(
            (rf"{config.line} at $\gamma$ = {gammas[config.runs[0]]:g}", config)
            for config in shown
            if _panel(config) == name
        )
        for name in unique(map(_panel, shown))
    }
    notes = [*seeds_note(dataset, style), *oscillation_note(oscillating)]
    notes += [*floor_note(gaps["low"], FLOOR), *best_note(configs, shown)]
    notes += shortened_note(dataset, shown)
    if (gammas == 0).any() and np.isfinite(dataset["optimum_objective"].values[gammas == 0]).all():
        notes.append(r"at $\gamma$ = 0 the optimum is the MAP estimate")
    labels = {GAP: f"objective gap to the {reference_name(dataset)} [nat]"}
    labels |= {name: METRICS[name] for name in metrics}
    panels = _draw(table, _gray_styles(shown), style, labels, panel_notes, notes)
    return Drawing(panels.figure, shown, table)


def colors(gammas: Sequence[float]) -> dict[float, str]:
    """Return a colour for each temperature, from dark (cold) to bright (hot)."""
    shades = colormaps["viridis"](np.linspace(0.0, MAX_BRIGHTNESS, len(gammas)))
    return dict(zip(gammas, map(to_hex, shades), strict=True))


def _panel(config: Configuration) -> str:
    return config.panel_without("gamma")


def _gaps(
    dataset: xr.Dataset, shown: Sequence[Configuration], center: str
) -> tuple[pd.DataFrame, list[str]]:
    """Return the bands of the gaps, and the names of lines that oscillate."""
    clipped, gammas = gap(dataset, "objective").clip(min=FLOOR), dataset["gamma"].values
    parts, oscillating = [], []
    for config in shown:
        part = band_table(clipped, [config], center).rename(columns={"at": "iteration"})
        part, lines = thin(part, "iteration")
        oscillating += lines
        part = part.assign(panel=_panel(config), gamma=float(gammas[config.runs[0]]), quantity=GAP)
        parts.append(part)
    return pd.concat(parts, ignore_index=True), unique(oscillating)


def _finals(dataset: xr.Dataset, metric: str) -> np.ndarray:
    return np.where(usable(dataset), final_values(dataset[metric]), np.nan)


def _final_rows(dataset: xr.Dataset, shown: Sequence[Configuration], metric: str) -> pd.DataFrame:
    """Return the final value of a test metric for each usable run."""
    values, gammas = _finals(dataset, metric), dataset["gamma"].values
    seeds = dataset["seed"].values.tolist()
    rows = [
        (_panel(config), config.line, float(gammas[run]), metric, seeds[run], values[run])
        for config in shown
        for run in config.usable
    ]
    return pd.DataFrame(rows, columns=["panel", "line", "gamma", "quantity", "seed", "center"])


def _gray_styles(shown: Sequence[Configuration]) -> dict[str, LineStyle]:
    """Return a gray style for each line. Lines differ in dash and marker, not in colour."""
    ranks = {solver: rank for rank, solver in enumerate(PALETTE)}
    ordered = sorted(shown, key=lambda config: ranks.get(config.solver, len(ranks)))
    return {
        line: replace(style, color="0.35", dash=DASHES[k % len(DASHES)])
        for k, (line, style) in enumerate(line_styles_of(ordered).items())
    }


def _draw(
    table: pd.DataFrame,
    styles: Mapping[str, LineStyle],
    style: Mapping[str, Any],
    labels: Mapping[str, str],
    panel_notes: Mapping[str, str],
    notes: Sequence[str],
) -> Panels:
    """Draw the table: a row of gaps, and a row for each test metric."""
    styles = visible(table, styles)
    shades = colors(sorted(set(table["gamma"])))
    panels = Panels(list(panel_notes), style, rows=len(labels))
    last = largest(table[table["quantity"] == GAP], "iteration")
    for name, note in panel_notes.items():
        panels.note(name, note)
        here = table[table["panel"] == name]
        for row, quantity in enumerate(labels):
            axes, part = panels.axes(name, row), here[here["quantity"] == quantity]
            if quantity == GAP:
                _draw_gaps(axes, part, styles, shades)
                positive_log(axes)
                scale_iterations(axes, last)
            else:
                _draw_finals(axes, part, styles, shades, style["center"])
                if quantity == ACCURACY:
                    widen_shares(axes)
    # In the row of gaps, labels include the temperature.
    panels.note_hidden_lines(FLOOR, first_row=min(1, len(labels) - 1))
    x_labels = ["iteration", *(r"temperature $\gamma$" for _ in range(len(labels) - 1))]
    panels.label(x_labels, list(labels.values()))
    entries = [
        Line2D([], [], color=shade, label=rf"$\gamma$ = {gamma:g}")
        for gamma, shade in shades.items()
    ]
    entries += [legend_entry(line, look, marker=True) for line, look in styles.items()]
    panels.legend(entries, notes)
    return panels


def _draw_gaps(
    axes: Axes,
    table: pd.DataFrame,
    styles: Mapping[str, LineStyle],
    shades: Mapping[float, str],
) -> None:
    """Draw a line with a band for each solver and temperature."""
    looks = {
        f"{line}, {gamma:g}": replace(look, color=shade)
        for line, look in styles.items()
        for gamma, shade in shades.items()
    }
    words = [
        f"{line}, {gamma:g}" for line, gamma in zip(table["line"], table["gamma"], strict=True)
    ]
    draw_bands(axes, table.assign(line=words), "iteration", looks)
    axes.set(xlabel="", ylabel="")


def _draw_finals(
    axes: Axes,
    table: pd.DataFrame,
    styles: Mapping[str, LineStyle],
    shades: Mapping[float, str],
    center: str,
) -> None:
    """Draw the final values of each solver by temperature, on the scale of the temperature."""
    for line, look in styles.items():
        part = table[table["line"] == line]
        draw_seeds(
            axes, part, "gamma", "center", center, line, color=look.color, linestyle=look.dash
        )
        if len(part):
            at, middle = (np.asarray(values) for values in axes.get_lines()[-1].get_data())
            colored = [shades[gamma] for gamma in at.tolist()]
            axes.scatter(at, middle, c=colored, marker=look.marker, s=MARKER_SIZE, zorder=3)
    positive = [gamma for gamma in shades if gamma > 0]
    if positive and max(positive) > MAX_LINEAR_RATIO * min(positive):
        axes.set_xscale("symlog", linthresh=min(positive), linscale=0.5)
