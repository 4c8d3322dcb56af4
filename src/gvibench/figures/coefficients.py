"""Plot posterior intervals of coefficients."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import seaborn
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gvibench.figures.style import PALETTE, WIDTHS
from gvibench.figures.theme import theme

__all__ = ["plot_coefficients"]

STYLE: dict[str, Any] = {"width": "column", "font_size": 8.0}
ROW_HEIGHT = 0.17
"""Height of a coefficient in inches."""
Z95 = 1.959963984540054


def plot_coefficients(
    names: Sequence[str], mean: NDArray[np.float64], sd: NDArray[np.float64], *, most: int
) -> Figure:
    """Return a figure with the mean and the 95 % interval of each coefficient.

    At most `most` coefficients are shown: those that differ most from zero, in units of their
    standard deviation.
    """
    chosen = np.argsort(-np.abs(mean) / sd, kind="stable")[:most]
    chosen = chosen[np.argsort(mean[chosen], kind="stable")]
    places = np.arange(len(chosen))
    color = PALETTE["vn"].color
    with theme(STYLE):
        figure = Figure(
            figsize=(WIDTHS["column"], 0.6 + ROW_HEIGHT * len(chosen)), layout="constrained"
        )
        axes = figure.subplots()
        axes.axvline(0.0, color="0.6", linewidth=0.8)
        axes.errorbar(
            mean[chosen],
            places,
            xerr=Z95 * sd[chosen],
            fmt="o",
            color=color,
            elinewidth=1.2,
            markersize=3.5,
        )
        axes.set_yticks(places, [names[k] for k in chosen], parse_math=False)
        axes.set_ylim(-0.7, len(chosen) - 0.3)
        hidden = len(mean) - len(chosen)
        note = f" ({hidden} weaker ones not shown)" if hidden else ""
        axes.set_xlabel(f"coefficient, mean and 95 % interval{note}")
        seaborn.despine(figure)
        figure.draw_without_rendering()
    return figure
