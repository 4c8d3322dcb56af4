"""Draw how the result of tuning depends on the number of trials."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from gvibench.figures.entries import Scored, entry_styles
from gvibench.figures.lines import legend_entry
from gvibench.figures.panels import Panels

__all__ = ["draw_tuning_budget"]

TITLE = "tuning budget"


def draw_tuning_budget(curves: pd.DataFrame, style: Mapping[str, Any]) -> Scored:
    """Draw the regret of the best of K trials against K, one line per entry.

    Parameters
    ----------
    curves
        Table of `gvibench.benchmark.tuning_budget.tuning_curves`.
    style
        Style of the figure.
    """
    names = curves["entry"].unique().tolist()
    looks = entry_styles(names)
    panels = Panels([TITLE], style)
    axes = panels.axes(TITLE)
    axes.set_title("")
    for name in names:
        part = curves[curves["entry"] == name]
        look = looks[name]
        axes.plot(
            part["trials"],
            10.0 ** part["log10_regret"],
            color=look.color,
            linestyle=look.dash,
            marker=look.marker,
            markersize=4,
            label=name,
        )
    axes.set_yscale("log")
    axes.set_xscale("log", base=2)
    counts = sorted(curves["trials"].unique().tolist())
    axes.set_xticks(counts, [f"{count:g}" for count in counts])
    panels.label("number of trials K", "regret of the best of K trials")
    notes = [
        "geometric mean over the problems and the choices of K of 64 trials; regrets below 1e-12 "
        "count as 1e-12"
    ]
    panels.legend([legend_entry(name, looks[name]) for name in names], notes)
    return Scored(panels.figure, curves)
