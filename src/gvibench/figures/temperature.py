"""Draw the effect of the temperature gamma on convergence and on final test metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gvibench.analysis.bands import band_at, band_over_iterations
from gvibench.analysis.configurations import Configuration, Floats, configurations, unique, usable
from gvibench.analysis.gaps import final, gap
from gvibench.analysis.ranking import Ranking
from gvibench.figures.lines import (
    FLOOR,
    draw_band,
    legend_entry,
    line_styles_of,
    positive_log,
    scale_iterations,
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
from gvibench.figures.style import DASHES, PALETTE, LineStyle

__all__ = ["colors", "plot"]

MAX_BRIGHTNESS = 0.85
"""Upper end of the colour map in use, because its yellow end is hard to see on white."""
METRICS = {
    "test_nll": "final test NLL, sum [nat]",
    "test_accuracy": "final test accuracy",
}


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one column per data set, one colour per temperature and one line style per solver."""
    configs = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(configs)
    gammas = np.asarray(dataset["gamma"].values)
    shades, styles = colors(np.unique(gammas).tolist()), _gray_styles(shown)
    gaps = gap(dataset, "objective")
    finals = _final_metrics(dataset)
    names = unique(_panel(config) for config in shown)
    panels = Panels(names, style, rows=1 + len(finals))
    for name in names:
        here = [config for config in shown if _panel(config) == name]
        _draw_gaps(panels.axes(name), here, gammas, gaps, styles, shades, style["center"])
        for row, values in enumerate(finals.values(), start=1):
            for line, line_style in styles.items():
                members = [config for config in here if config.line == line and len(config.usable)]
                axes = panels.axes(name, row)
                _draw_finals(axes, members, gammas, values, line_style, shades, style["center"])
        named = (
            (rf"{config.line} at $\gamma$ = {gammas[config.runs[0]]:g}", config) for config in here
        )
        panels.note(name, unusable_note(named))
    x_labels = ["iteration", *("temperature $\\gamma$" for _ in finals)]
    panels.label(x_labels, [f"objective gap to the {reference_name(dataset)} [nat]", *finals])
    entries = [
        Line2D([], [], color=shade, label=rf"$\gamma$ = {gamma:g}")
        for gamma, shade in shades.items()
    ]
    entries += [legend_entry(line, line_style, marker=True) for line, line_style in styles.items()]
    notes = [*seeds_note(dataset, style), *floor_note(gaps, shown, FLOOR)]
    notes += [*best_note(configs, shown), *shortened_note(dataset, shown)]
    if 0.0 in shades and np.isfinite(dataset["optimum_objective"].values[gammas == 0.0]).all():
        notes.append(r"at $\gamma$ = 0 the optimum is the MAP estimate")
    panels.legend(entries, notes)
    return panels.figure, shown


def colors(gammas: Sequence[float]) -> dict[float, str]:
    """Return a colour for each temperature, from dark (cold) to bright (hot)."""
    shades = colormaps["viridis"](np.linspace(0.0, MAX_BRIGHTNESS, len(gammas)))
    return dict(zip(gammas, map(to_hex, shades), strict=True))


def _panel(config: Configuration) -> str:
    return config.panel_without("gamma")


def _gray_styles(shown: Sequence[Configuration]) -> dict[str, LineStyle]:
    """Return a gray style for each line. Lines differ in dash and marker, not in colour."""
    ranks = {solver: rank for rank, solver in enumerate(PALETTE)}
    ordered = sorted(shown, key=lambda config: ranks.get(config.solver, len(ranks)))
    return {
        line: replace(style, color="0.35", dash=DASHES[k % len(DASHES)])
        for k, (line, style) in enumerate(line_styles_of(ordered).items())
    }


def _final_metrics(dataset: xr.Dataset) -> dict[str, Floats]:
    """Return the final values of the available test metrics, by axis label."""
    is_usable = usable(dataset)
    return {
        label: final(dataset[metric].values)
        for metric, label in METRICS.items()
        if np.isfinite(dataset[metric].values[is_usable]).any()
    }


def _draw_gaps(
    axes: Axes,
    members: Sequence[Configuration],
    gammas: Floats,
    gaps: xr.DataArray,
    styles: Mapping[str, LineStyle],
    shades: Mapping[float, str],
    center: str,
) -> None:
    clipped = gaps.clip(min=FLOOR)
    for config in members:
        gamma = gammas[config.runs[0]]
        style = replace(styles[config.line], color=shades[gamma])
        band = band_over_iterations(clipped, config, center)
        draw_band(axes, band, style, f"{config.line}, {gamma:g}")
    positive_log(axes)
    scale_iterations(axes)


def _draw_finals(
    axes: Axes,
    members: Sequence[Configuration],
    gammas: Floats,
    values: Floats,
    style: LineStyle,
    shades: Mapping[float, str],
    center: str,
) -> None:
    """Draw the final values of a line by temperature, evenly spaced so that 0 can be shown."""
    ticks = list(shades)
    members = sorted(members, key=lambda config: gammas[config.runs[0]])
    temperatures = [gammas[config.runs[0]] for config in members]
    groups = [values[config.usable] for config in members]
    band = band_at([ticks.index(gamma) for gamma in temperatures], groups, center)
    axes.fill_between(band.at, band.low, band.high, color=style.color, alpha=0.15, linewidth=0)
    axes.plot(band.at, band.center, color=style.color, linestyle=style.dash, zorder=2)
    colored = [shades[gamma] for gamma in temperatures]
    axes.scatter(band.at, band.center, c=colored, marker=style.marker, s=12, zorder=3)
    axes.set_xticks(range(len(ticks)), [f"{gamma:g}" for gamma in ticks])
    axes.set_xlim(-0.5, len(ticks) - 0.5)
