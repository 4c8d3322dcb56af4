"""Find lines that are hidden under other lines."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import pts_to_poststep
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from gvibench.analysis.configurations import Floats

__all__ = ["hidden_lines", "to_fractions"]

POSITIONS = 200
"""Number of horizontal positions at which lines are compared."""
MIN_SHARE = 0.8
"""Share of the positions of a line that another line must cover."""


def hidden_lines(
    panel: Sequence[Axes], tolerance: float, floor: float | None = None
) -> list[tuple[str, str]]:
    """Return pairs of labels of a hidden line and the topmost line above it.

    A line is hidden if another line is drawn later and agrees with it within a tolerance at most
    positions, in all axes of the panel.

    Parameters
    ----------
    panel
        Axes of one panel.
    tolerance
        Vertical distance up to which lines agree, as a fraction of the height of the axes.
    floor
        Value at which smaller values are drawn. Positions where both lines are at the floor do
        not count, unless there are no others.
    """
    pairs: list[set[tuple[str, str]]] = []
    order: list[str] = []
    for axes in panel:
        curves = {
            str(line.get_label()): _fractions(axes, line)
            for line in axes.get_lines()
            if not str(line.get_label()).startswith("_") and line.get_linestyle() != "None"
        }
        curves = {label: curve for label, curve in curves.items() if curve.shape[1]}
        order = order or list(curves)
        bottom = None if floor is None else float(to_fractions(axes, [1.0], [floor])[1, 0])
        pairs.append(
            {
                (below, above)
                for below, above in combinations(curves, 2)
                if _covers(curves[above], curves[below], tolerance, bottom)
            }
        )
    common = set.intersection(*pairs) if pairs else set()
    topmost = dict(sorted(common, key=lambda pair: order.index(pair[1])))
    return [(below, topmost[below]) for below in order if below in topmost]


def _fractions(axes: Axes, line: Line2D) -> Floats:
    """Return the points of a line in fractions of the axes, as an array (2, points)."""
    x, y = (np.asarray(values, dtype=float) for values in line.get_data())
    if line.get_drawstyle() == "steps-post" and len(x):
        x, y = pts_to_poststep(x, y)
    points = to_fractions(axes, x, y)
    return points[:, np.isfinite(points).all(axis=0)]


def to_fractions(axes: Axes, x: ArrayLike, y: ArrayLike) -> Floats:
    """Return points in fractions of the axes, as an array (2, points)."""
    transform = axes.transData + axes.transAxes.inverted()
    with np.errstate(all="ignore"):
        points = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
        return np.asarray(transform.transform(points)).T


def _covers(above: Floats, below: Floats, tolerance: float, bottom: float | None) -> bool:
    """Return whether the curve `above` lies on the curve `below` at most of its positions."""
    at = np.linspace(below[0].min(), below[0].max(), POSITIONS)
    common = (at >= above[0].min() - 1e-9) & (at <= above[0].max() + 1e-9)
    upper, lower = np.interp(at, *above), np.interp(at, *below)
    agrees = common & (np.abs(upper - lower) <= tolerance)
    if bottom is not None:
        counted = ~common | (np.maximum(upper, lower) > bottom + tolerance)
        if counted.sum() >= 2:
            agrees = agrees[counted]
    return bool(agrees.mean() >= MIN_SHARE)
