"""What the temperature changes: convergence, and where it ends on test rows."""

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

from gvibench.analysis.bands import CENTERS, band_over_iterations
from gvibench.analysis.configurations import Configuration, Floats, configurations, unique, usable
from gvibench.analysis.gaps import final, gap
from gvibench.analysis.ranking import Ranking
from gvibench.figures.panels import (
    FLOOR,
    Panels,
    best_note,
    draw_band,
    floor_note,
    handle,
    looks_of,
    positive_log,
    reference_name,
    scale_iterations,
    seeds_note,
    shortened_note,
    unusable_words,
)
from gvibench.figures.style import DASHES, PALETTE, Look

__all__ = ["colors", "plot"]

BRIGHTEST = 0.85
"""Where to leave the colour map, whose yellow end is lost on white."""
METRICS = {
    "test_nll": "final test NLL, sum [nat]",
    "test_accuracy": "final test accuracy",
}


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw a column per data set, a colour per temperature and a line style per solver."""
    every = configurations(dataset)
    shown = Ranking.of(dataset).best_lines(every)
    gammas = np.asarray(dataset["gamma"].values)
    shades, looks = colors(np.unique(gammas).tolist()), _looks(shown)
    gaps = gap(dataset, "objective")
    clipped = gaps.clip(min=FLOOR)
    done = usable(dataset)
    ends = {
        label: final(dataset[metric].values)
        for metric, label in METRICS.items()
        if np.isfinite(dataset[metric].values[done]).any()
    }
    names = unique(_panel(one) for one in shown)
    panels = Panels(names, style, rows=1 + len(ends))
    for name in names:
        axes = panels.axes(name)
        here = [one for one in shown if _panel(one) == name]
        for one in here:
            gamma = gammas[one.runs[0]]
            look = replace(looks[one.line], color=shades[gamma])
            band = band_over_iterations(clipped, one, style["center"])
            draw_band(axes, band, look, f"{one.line}, {gamma:g}")
        positive_log(axes)
        scale_iterations(axes)
        for row, values in enumerate(ends.values(), start=1):
            for line, look in looks.items():
                members = [one for one in here if one.line == line and len(one.usable)]
                axes = panels.axes(name, row)
                _draw_ends(axes, members, gammas, values, look, shades, style["center"])
        named = [(rf"{one.line} at $\gamma$ = {gammas[one.runs[0]]:g}", one) for one in here]
        if text := unusable_words(named):
            panels.note(name, text)
    x_labels = ["iteration", *("temperature $\\gamma$" for _ in ends)]
    panels.label(x_labels, [f"objective gap to the {reference_name(dataset)} [nat]", *ends])
    handles = [
        Line2D([], [], color=shade, label=rf"$\gamma$ = {gamma:g}")
        for gamma, shade in shades.items()
    ]
    handles += [handle(line, look, marker=True) for line, look in looks.items()]
    notes = [*seeds_note(dataset, style), *floor_note(gaps, shown, FLOOR)]
    notes += [*best_note(every, shown), *shortened_note(dataset, shown)]
    if 0.0 in shades and np.isfinite(dataset["optimum_objective"].values[gammas == 0.0]).all():
        notes.append(r"at $\gamma$ = 0 the optimum is the MAP estimate")
    panels.legend(handles, notes)
    return panels.figure, shown


def colors(gammas: Sequence[float]) -> dict[float, str]:
    """Return a colour for each temperature, from dark and cold to bright and hot."""
    shades = colormaps["viridis"](np.linspace(0.0, BRIGHTEST, len(gammas)))
    return dict(zip(gammas, map(to_hex, shades), strict=True))


def _panel(one: Configuration) -> str:
    return one.panel_without("gamma")


def _looks(shown: Sequence[Configuration]) -> dict[str, Look]:
    """Return how each line is drawn where colours are taken: by its dashes and its marker."""
    ranks = {solver: rank for rank, solver in enumerate(PALETTE)}
    ordered = sorted(shown, key=lambda one: ranks.get(one.solver, len(ranks)))
    return {
        line: replace(look, color="0.35", dash=DASHES[k % len(DASHES)])
        for k, (line, look) in enumerate(looks_of(ordered).items())
    }


def _draw_ends(
    axes: Axes,
    members: Sequence[Configuration],
    gammas: Floats,
    values: Floats,
    look: Look,
    shades: Mapping[float, str],
    center_name: str,
) -> None:
    """Draw the last values of a line by temperature, which are spaced evenly to make room for 0."""
    places = list(shades)
    members = sorted(members, key=lambda one: gammas[one.runs[0]])
    of_members = [gammas[one.runs[0]] for one in members]
    at = [places.index(gamma) for gamma in of_members]
    center, low, high = (
        [reduce(values[one.usable]) for one in members]
        for reduce in (CENTERS[center_name][1], np.min, np.max)
    )
    axes.fill_between(at, low, high, color=look.color, alpha=0.15, linewidth=0)
    axes.plot(at, center, color=look.color, linestyle=look.dash, zorder=2)
    colored = [shades[gamma] for gamma in of_members]
    axes.scatter(at, center, c=colored, marker=look.marker, s=12, zorder=3)
    axes.set_xticks(range(len(places)), [f"{gamma:g}" for gamma in places])
    axes.set_xlim(-0.5, len(places) - 0.5)
