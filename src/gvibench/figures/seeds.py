"""Draw values by seed as a line through their centres with a band from minimum to maximum."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from gvibench.analysis.bands import CENTERS

__all__ = ["draw_seeds"]

BAND_ALPHA = 0.15


def draw_seeds(
    axes: Axes, table: pd.DataFrame, x: str, y: str, center: str, label: str, **look: Any
) -> None:
    """Draw a line with seaborn's `lineplot` and percentile intervals of 100 %.

    Set logarithmic scales afterwards, because seaborn averages on the scale of the axes.

    Parameters
    ----------
    axes
        Axes to draw into.
    table
        Table with one row per seed and position.
    x, y
        Columns of the axes.
    center
        Name of a centre in `CENTERS`.
    label
        Label of the line.
    **look
        Properties of the line.
    """
    import seaborn

    if table.empty:
        return
    seaborn.lineplot(
        table,
        x=x,
        y=y,
        estimator=lambda values: _center(values, center),
        errorbar=("pi", 100),
        err_kws={"alpha": BAND_ALPHA, "linewidth": 0},
        legend=False,
        ax=axes,
        **{"markeredgecolor": look["color"], **look},
    )
    axes.get_lines()[-1].set_label(label)
    if table[x].nunique() == 1:  # A band at a single position has no width.
        at, low, high = table[x].iloc[0], table[y].min(), table[y].max()
        axes.vlines([at], [low], [high], color=look["color"], linewidth=1.0)
    axes.set(xlabel="", ylabel="")


def _center(values: Any, center: str) -> float:
    if np.ndim(values) == 0:  # Some versions of pandas try the elements first.
        raise TypeError("the centre needs all values")
    return float(CENTERS[center][1](np.asarray(values, dtype=float)))
