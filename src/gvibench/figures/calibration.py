"""Draw reliability diagrams: the observed share of a class against its predicted probability."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from gvibench.analysis.configurations import unique
from gvibench.analysis.measures import Measured, measured
from gvibench.errors import UserError
from gvibench.figures.drawing import Drawing
from gvibench.figures.lines import legend_entry
from gvibench.figures.panels import Panels
from gvibench.figures.style import LineStyle, line_styles_of

__all__ = ["observed_range", "plot"]

OPTIMUM_STYLE = LineStyle("#000000", "-", "o")
RANGE = (0.025, 0.975)
"""Quantiles between which the observed share of a calibrated bin lies."""


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw one panel per problem and one line per Gaussian, the mean over the seeds.

    The test rows are sorted by their predicted probability and cut into bins of equal size. The
    grey bars show the range of the observed shares if the predictions of the first line were
    calibrated.
    """
    rows = [row for row in measured(dataset) if np.isfinite(row.bins["bin_count"]).any()]
    if not rows:
        raise UserError("no Gaussian has predictions of two classes")
    rows = _one_per_line(rows)
    table = pd.concat([_table(row) for row in rows], ignore_index=True)
    others = [row.configuration for row in rows if not row.is_optimum]
    looks = line_styles_of(others)
    if any(row.is_optimum for row in rows):
        looks = {"optimum": OPTIMUM_STYLE, **looks}
    names = unique(row.panel for row in rows)
    panels = Panels(names, style)
    for name in names:
        part = table[table["panel"] == name]
        _draw(panels.axes(name), part, looks)
        panels.note(name, _counts(part))
    panels.note_hidden_lines()
    panels.label("predicted probability of +1", "observed share of +1")
    handles = [legend_entry(line, look, marker=True) for line, look in looks.items()]
    panels.legend(handles, _notes(rows))
    return Drawing(panels.figure, [row.configuration for row in rows], table)


def _one_per_line(rows: Sequence[Measured]) -> list[Measured]:
    """Return the Gaussian with the smallest predictive NLL of each line and panel."""
    best: dict[tuple[str, str], Measured] = {}
    for row in rows:
        known = best.get((row.panel, row.line))
        if known is None or _nll(row) < _nll(known):
            best[row.panel, row.line] = row
    return list(best.values())


def _nll(row: Measured) -> float:
    return float(np.nanmedian(row.values["pred_nll"]))


def _table(row: Measured) -> pd.DataFrame:
    """Return the mean bins of a Gaussian, and the range of calibrated ones."""
    usable = np.isfinite(row.bins["bin_count"][:, 0])
    bins = {name: values[usable].mean(axis=0) for name, values in row.bins.items()}
    kept = np.isfinite(bins["bin_count"])
    predicted, counts = bins["bin_predicted"][kept], bins["bin_count"][kept]
    pairs = zip(counts.tolist(), predicted.tolist(), strict=True)
    low, high = np.transpose([observed_range(int(count), share) for count, share in pairs])
    return pd.DataFrame(
        {
            "panel": row.panel,
            "line": row.line,
            "predicted": predicted,
            "observed": bins["bin_observed"][kept],
            "count": counts,
            "calibrated_low": low,
            "calibrated_high": high,
        }
    )


def observed_range(count: int, share: float) -> tuple[float, float]:
    """Return the range of the observed share of a bin whose predicted share is correct.

    These are quantiles of the binomial distribution.
    """
    k = np.arange(1, count + 1)
    choices = np.append(0.0, np.cumsum(np.log((count + 1 - k) / k)))
    share = min(max(share, 1e-300), 1 - 1e-16)
    hits = np.arange(count + 1)
    chance = np.exp(choices + hits * math.log(share) + (count - hits) * math.log1p(-share))
    total = np.cumsum(chance)
    low, high = (min(int(np.searchsorted(total, level)), count) / count for level in RANGE)
    return low, high


def _draw(axes: Axes, part: pd.DataFrame, looks: Mapping[str, LineStyle]) -> None:
    first = part[part["line"] == part["line"].iloc[0]]
    # Bars, because a band would also cover the gaps between bins.
    ends = first["calibrated_low"], first["calibrated_high"]
    axes.vlines(first["predicted"], *ends, color="0.85", linewidth=4.0, capstyle="butt")
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.6, label="_diagonal")
    for line, points in part.groupby("line", sort=False):
        look = looks[str(line)]
        axes.plot(
            points["predicted"],
            points["observed"],
            color=look.color,
            linestyle=look.dash,
            marker=look.marker,
            label=str(line),
        )
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))


def _counts(part: pd.DataFrame) -> str:
    first = part[part["line"] == part["line"].iloc[0]]
    low, high = int(first["count"].min()), int(first["count"].max())
    each = f"{low}" if low == high else f"{low}–{high}"
    return f"{int(first['count'].sum())} test rows, {each} per bin"


def _notes(rows: Sequence[Measured]) -> list[str]:
    seeds = max(len(row.values["pred_nll"]) for row in rows)
    notes = ["grey: 95% range of calibrated predictions, for the first line"]
    if seeds > 1:
        notes.append(f"solvers: mean over {seeds} seeds")
    return notes
