"""Draw the final objective gap against the step, which shows how sensitive a solver is to it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gvibench.analysis.bands import band_at
from gvibench.analysis.configurations import Configuration, Floats, configurations, unique
from gvibench.analysis.gaps import final, gap
from gvibench.figures.lines import FLOOR, line_styles_of, positive_log
from gvibench.figures.notes import reference_name, seeds_note
from gvibench.figures.panels import Panels
from gvibench.figures.style import LineStyle

__all__ = ["plot"]

SCALE_STYLES: tuple[dict[str, Any], ...] = (
    {"linestyle": "-", "fillstyle": "full"},
    {"linestyle": (0, (4, 1.5)), "fillstyle": "none"},
    {"linestyle": (0, (1, 1.2)), "fillstyle": "left"},
    {"linestyle": (0, (5, 1.2, 1, 1.2)), "fillstyle": "top"},
)
"""Styles of the initial scales, in ascending order."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
CROSS_HEIGHT = 0.97
"""Position of the crosses of diverged and failed runs, as a fraction of the panel height."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per problem, one colour per solver and one line style per initial scale.

    A cross marks a step at which at least one seed diverged or failed.
    """
    configs = configurations(dataset)
    styles = _with_distinct_markers(line_styles_of(configs))
    finals = final(gap(dataset, "objective").values)
    scales = _styled_scales(configs)
    names = unique(config.panel for config in configs)
    panels = Panels(names, style)
    for name in names:
        axes = panels.axes(name)
        here = [config for config in configs if config.panel == name]
        for line, scale in unique((config.line, config.init_scale) for config in here):
            members = [
                config for config in here if (config.line, config.init_scale) == (line, scale)
            ]
            members.sort(key=lambda config: config.step)
            scale_style = scales.get(scale, {})
            _draw_steps(axes, members, finals, styles[line], scale_style, style["center"])
        positive_log(axes)
        axes.set_xscale("log")
    panels.label("step", f"final objective gap to the {reference_name(dataset)} [nat]")
    notes = seeds_note(dataset, style)
    if (finals[np.concatenate([config.usable for config in configs])] < FLOOR).any():
        notes.append(f"gaps below {FLOOR:g} are drawn at {FLOOR:g}")
    panels.legend(_legend_entries(configs, styles, scales), notes)
    return panels.figure, configs


def _with_distinct_markers(styles: dict[str, LineStyle]) -> dict[str, LineStyle]:
    """Give the lines of one solver different markers, because dashes mean initial scales here."""
    count: Counter[str] = Counter()
    result = {}
    for line, style in styles.items():
        number = count[style.color]
        count[style.color] += 1
        markers = [style.marker, *(marker for marker in MARKERS if marker != style.marker)]
        result[line] = replace(style, marker=markers[number % len(markers)])
    return result


def _styled_scales(configs: Sequence[Configuration]) -> dict[float, dict[str, Any]]:
    """Return the style of each initial scale, empty if there are too many or they are tuned.

    Tuned scales differ between solvers, so they do not form lines.
    """
    scales = sorted(unique(config.init_scale for config in configs))
    if len(scales) > len(SCALE_STYLES) or any(config.tuned for config in configs):
        return {}
    return dict(zip(scales, SCALE_STYLES, strict=False))


def _draw_steps(
    axes: Axes,
    members: Sequence[Configuration],
    finals: Floats,
    style: LineStyle,
    scale_style: Mapping[str, Any],
    center: str,
) -> None:
    usable = [config for config in members if len(config.usable)]
    if usable:
        groups = [np.maximum(finals[config.usable], FLOOR) for config in usable]
        band = band_at([config.step for config in usable], groups, center)
        axes.fill_between(band.at, band.low, band.high, color=style.color, alpha=0.15, linewidth=0)
        axes.plot(band.at, band.center, color=style.color, marker=style.marker, **scale_style)
        if len(usable) == 1:  # A band at a single step has no width, so draw a vertical line.
            axes.vlines(band.at, band.low, band.high, color=style.color, linewidth=1.0)
    failed = [config.step for config in members if config.unusable]
    # The crosses use axes coordinates, so that they do not extend the range of the gaps.
    axes.plot(
        failed,
        [CROSS_HEIGHT] * len(failed),
        transform=axes.get_xaxis_transform(),
        color=style.color,
        marker="x",
        linestyle="",
        gid="unusable",
    )


def _legend_entries(
    configs: Sequence[Configuration],
    styles: Mapping[str, LineStyle],
    scales: Mapping[float, Mapping[str, Any]],
) -> list[Line2D]:
    entries = [
        Line2D([], [], label=line, color=style.color, marker=style.marker)
        for line, style in styles.items()
    ]
    if len(scales) > 1:
        entries += [
            Line2D([], [], label=f"$C_0$ = {scale:g}", color="0.35", marker="o", **scale_style)
            for scale, scale_style in scales.items()
        ]
    if any(config.unusable for config in configs):
        label = "a seed diverged or failed"
        entries.append(Line2D([], [], label=label, color="0.35", marker="x", linestyle=""))
    return entries
