"""Final objective gap against the step: how much a solver depends on its step."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from gvibench.analysis.bands import CENTERS
from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.gaps import final, gap
from gvibench.figures.panels import (
    FLOOR,
    Panels,
    looks_of,
    positive_log,
    reference_name,
    seeds_note,
)
from gvibench.figures.style import Look

__all__ = ["plot"]

SCALES: tuple[dict[str, Any], ...] = (
    {"linestyle": "-", "fillstyle": "full"},
    {"linestyle": (0, (4, 1.5)), "fillstyle": "none"},
    {"linestyle": (0, (1, 1.2)), "fillstyle": "left"},
    {"linestyle": (0, (5, 1.2, 1, 1.2)), "fillstyle": "top"},
)
"""How initial scales are drawn, in ascending order."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
TOP = 0.97
"""Where crosses of runs that diverged or failed stand, as a share of the panel's height."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set, a colour per solver, a line style per initial scale.

    A cross marks a step at which at least one seed diverged or failed.
    """
    every = configurations(dataset)
    chosen = _told_apart(looks_of(every))
    finals = final(gap(dataset, "objective").values)
    scales = sorted(unique(one.init_scale for one in every))
    # Tuned scales differ from solver to solver: there is no line to style.
    styled = len(scales) <= len(SCALES) and not any(one.tuned for one in every)
    names = unique(one.panel for one in every)
    panels = Panels(names, style)
    for name in names:
        axes = panels.axes(name)
        here = [one for one in every if one.panel == name]
        for line, scale in unique((one.line, one.init_scale) for one in here):
            members = [one for one in here if (one.line, one.init_scale) == (line, scale)]
            members.sort(key=lambda one: one.step)
            how = SCALES[scales.index(scale)] if styled else {}
            _draw_steps(axes, members, finals, chosen[line], how, style["center"])
        positive_log(axes)
        axes.set_xscale("log")
    ends = finals[np.concatenate([one.usable for one in every])]
    floor = [f"gaps below {FLOOR:g} are drawn at {FLOOR:g}"] if (ends < FLOOR).any() else []
    panels.label("step", f"final objective gap to the {reference_name(dataset)} [nat]")
    handles = [
        _entry(label=line, color=look.color, marker=look.marker) for line, look in chosen.items()
    ]
    if styled and len(scales) > 1:
        handles += [
            _entry(label=f"$C_0$ = {scale:g}", color="0.35", marker="o", **how)
            for scale, how in zip(scales, SCALES, strict=False)
        ]
    if any(one.unusable for one in every):
        handles.append(
            _entry(label="a seed diverged or failed", color="0.35", marker="x", linestyle="")
        )
    panels.legend(handles, [*seeds_note(dataset, style), *floor])
    return panels.figure, every


def _told_apart(looks: dict[str, Look]) -> dict[str, Look]:
    """Give the lines of one solver different markers: dashes stand for initial scales here."""
    count: Counter[str] = Counter()
    result = {}
    for line, look in looks.items():
        number = count[look.color]
        count[look.color] += 1
        markers = [look.marker, *(marker for marker in MARKERS if marker != look.marker)]
        result[line] = replace(look, marker=markers[number % len(markers)])
    return result


def _draw_steps(
    axes: Axes,
    members: Sequence[Configuration],
    finals: np.ndarray,
    look: Look,
    how: dict[str, Any],
    center_name: str,
) -> None:
    usable = [one for one in members if len(one.usable)]
    if usable:
        steps = [one.step for one in usable]
        center, low, high = (
            [reduce(np.maximum(finals[one.usable], FLOOR)) for one in usable]
            for reduce in (CENTERS[center_name][1], np.min, np.max)
        )
        axes.fill_between(steps, low, high, color=look.color, alpha=0.15, linewidth=0)
        axes.plot(steps, center, color=look.color, marker=look.marker, **how)
        if len(usable) == 1:  # a band of no width shows nothing
            axes.vlines(steps, low, high, color=look.color, linewidth=1.0)
    failed = [one.step for one in members if one.unusable]
    # Crosses are placed by the panel's height and must not stretch the axis of the gaps.
    axes.plot(
        failed,
        [TOP] * len(failed),
        transform=axes.get_xaxis_transform(),
        color=look.color,
        marker="x",
        linestyle="",
        gid="unusable",
    )


def _entry(**how: Any) -> Line2D:
    return Line2D([], [], **how)
