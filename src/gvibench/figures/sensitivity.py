"""Draw the final objective gap against the step, which shows how sensitive a solver is to it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from gvibench.analysis.configurations import Configuration, configurations, unique, usable
from gvibench.analysis.gaps import final_values, gap
from gvibench.figures.bands import visible
from gvibench.figures.drawing import Drawing
from gvibench.figures.lines import positive_log
from gvibench.figures.notes import floor_note, reference_name, seeds_note
from gvibench.figures.panels import Panels
from gvibench.figures.seeds import draw_seeds
from gvibench.figures.style import FLOOR, LineStyle, line_styles_of

__all__ = ["final_gaps", "plot", "with_step_size"]

SCALE_STYLES: tuple[dict[str, Any], ...] = (
    {"linestyle": "-", "fillstyle": "full"},
    {"linestyle": (0, (4, 1.5)), "fillstyle": "none"},
    {"linestyle": (0, (1, 1.2)), "fillstyle": "left"},
    {"linestyle": (0, (5, 1.2, 1, 1.2)), "fillstyle": "top"},
)
"""Styles of the initial scales, in ascending order."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
CROSS_DISTANCE = 0.04
"""Distance between rows of crosses for diverged and failed runs, relative to the panel height."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw one panel per problem, one colour per solver and one line style per initial scale.

    A cross marks a step at which at least one seed diverged or failed.
    """
    configs, notes = with_step_size(configurations(dataset))
    table = final_gaps(dataset, configs)
    scales = _styled_scales(configs)
    label = f"final objective gap to the {reference_name(dataset)} [nat]"
    styles = _with_distinct_markers(line_styles_of(configs))
    panels = _draw(table, styles, scales, style, label, [*seeds_note(dataset, style), *notes])
    return Drawing(panels.figure, configs, table)


def with_step_size(
    configs: Sequence[Configuration],
) -> tuple[list[Configuration], list[str]]:
    """Return the configurations whose step size is set, and a note on the others."""
    kept = [config for config in configs if not np.isnan(config.step_size)]
    others = unique(config.line for config in configs if np.isnan(config.step_size))
    notes = [f"without a set step size, not shown: {', '.join(others)}"] if others else []
    return kept, notes


def final_gaps(dataset: xr.Dataset, configs: Sequence[Configuration]) -> pd.DataFrame:
    """Return the final gap of each run with its step and initial scale.

    The gap of a run that diverged or failed is NaN. Gaps below `FLOOR` become `FLOOR`.
    """
    finals = np.maximum(final_values(gap(dataset, "objective")), FLOOR)
    runs = np.concatenate([config.runs for config in configs])
    of_run = np.repeat(np.arange(len(configs)), [len(config.runs) for config in configs])
    columns = {
        name: np.array([getattr(config, name) for config in configs])[of_run]
        for name in ("panel", "line", "step", "init_scale")
    }
    columns |= {name: dataset[name].values[runs] for name in ("seed", "status")}
    columns["gap"] = np.where(usable(dataset)[runs], finals[runs], np.nan)
    return pd.DataFrame(columns)


def _draw(
    table: pd.DataFrame,
    styles: Mapping[str, LineStyle],
    scales: Mapping[float, Mapping[str, Any]],
    style: Mapping[str, Any],
    label: str,
    notes: Sequence[str],
) -> Panels:
    """Draw the table, one panel per problem."""
    names = unique(table["panel"])
    panels = Panels(names, style)
    for name in names:
        axes = panels.axes(name)
        here = table[table["panel"] == name]
        for (line, scale), part in here.groupby(["line", "init_scale"], sort=False):
            known = part[part["gap"].notna()]
            look = styles[line]
            dots = {"color": look.color, "marker": look.marker, **scales.get(scale, {})}
            words = f"{line}, $C_0$ = {scale:g}" if len(scales) > 1 else line
            draw_seeds(axes, known, "step", "gap", style["center"], words, **dots)
        positive_log(axes)
        axes.set_xscale("log")
        _mark_unusable(axes, here[here["gap"].isna()], styles)
    panels.note_hidden_lines(FLOOR)
    panels.label("step", label)
    panels.legend(
        _legend_entries(table, styles, scales), [*notes, *floor_note(table["gap"], FLOOR)]
    )
    return panels


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


def _mark_unusable(axes: Axes, table: pd.DataFrame, styles: Mapping[str, LineStyle]) -> None:
    """Mark steps with diverged or failed runs above the lines, one row of crosses per line."""
    drawn = visible(table, styles)
    if not axes.get_lines() and drawn:
        axes.set_xlim(0.5 * table["step"].min(), 2 * table["step"].max())
    low, high = axes.get_ylim()
    rows = CROSS_DISTANCE * (len(drawn) + 1) if drawn else 0.0
    axes.set_ylim(low, high * (high / low) ** (rows / (1 - rows)))
    for k, (line, look) in enumerate(drawn.items()):
        at = unique(sorted(table[table["line"] == line]["step"]))
        # The crosses use axes coordinates, so that they do not extend the range of the gaps.
        axes.plot(
            at,
            [1 - CROSS_DISTANCE * (k + 1)] * len(at),
            transform=axes.get_xaxis_transform(),
            color=look.color,
            marker="x",
            linestyle="",
            gid="unusable",
        )


def _legend_entries(
    table: pd.DataFrame,
    styles: Mapping[str, LineStyle],
    scales: Mapping[float, Mapping[str, Any]],
) -> list[Line2D]:
    entries = [
        Line2D([], [], label=line, color=style.color, marker=style.marker)
        for line, style in visible(table, styles).items()
    ]
    if len(scales) > 1:
        entries += [
            Line2D([], [], label=f"$C_0$ = {scale:g}", color="0.35", marker="o", **scale_style)
            for scale, scale_style in scales.items()
        ]
    if table["gap"].isna().any():
        label = "a seed diverged or failed"
        entries.append(Line2D([], [], label=label, color="0.35", marker="x", linestyle=""))
    return entries
