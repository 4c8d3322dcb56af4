"""Reduce curves to fewer points that draw the same lines, and pack them as bytes."""

import base64
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.analysis.gaps import ROUNDING

__all__ = [
    "LINEAR_TOLERANCE",
    "LOG_TOLERANCE",
    "NOISE_TOLERANCE",
    "STATISTICS",
    "Numbers",
    "statistics",
    "thin",
]

Floats = NDArray[np.float64]

STATISTICS = ("mean", "min", "max", "median", "quartile_1", "quartile_3")
LINEAR_TOLERANCE = 0.002
"""Tolerance of a thinned line on a linear axis, as a share of the curve's range."""
LOG_TOLERANCE = 0.01
"""Tolerance of a thinned line on a logarithmic axis, in decades."""
NOISE_TOLERANCE = 0.2
"""Tolerance in decades below `ROUNDING`, where following the curve would take most points."""

WORST_SHARE = 0.4
"""Share of the largest error above which points are added."""


def statistics(rows: Floats) -> Floats:
    """Return `STATISTICS` over the rows. A single row is returned as it is."""
    if len(rows) == 1:
        return rows
    quartiles = np.quantile(rows, (0.5, 0.25, 0.75), axis=0)
    return np.concatenate([[rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0)], quartiles])


def thin(at: Floats, rows: Floats, floor: float, max_points: int) -> tuple[NDArray[np.intp], float]:
    """Select points such that straight lines between them approximate the curves.

    Starting from the end points, add the point with the largest error between each pair of
    neighbours until all curves are within the tolerances on linear and logarithmic axes, or
    `max_points` is reached.

    Parameters
    ----------
    at
        Horizontal positions in ascending order.
    rows
        Curves, which share the selected points.
    floor
        Smallest value on a logarithmic axis; smaller values are drawn there.
    max_points
        Approximate maximum number of points. A round of additions is always completed.

    Returns
    -------
    Indices of the selected points, and the largest remaining error in units of the tolerances.
    """
    count = len(at)
    kept = np.zeros(count, dtype=bool)
    # A logarithmic axis cannot show zero, so the point after zero is an end point, too.
    kept[[0, -1, *([1] if count > 1 and at[0] <= 0 else [])]] = True
    if count <= 2:
        return np.flatnonzero(kept), 0.0
    drawn = _as_drawn(rows, floor)
    axes = (at, np.log10(np.where(at > 0, at, at[1])))
    while True:
        points = np.flatnonzero(kept)
        off = np.max([_distance(axis, drawn, points) for axis in axes], axis=0)
        off[points] = 0.0  # a line cannot pass through several points at the same position
        worst = float(off.max())
        if not worst > 1 or len(points) >= max_points:
            return points, worst
        # Add the worst points first because there may be no room for all of them.
        bad = max(1.0, WORST_SHARE * worst)
        for start, stop in itertools.pairwise(points):
            furthest = start + int(off[start:stop].argmax())
            kept[furthest] |= off[furthest] >= bad


def _as_drawn(rows: Floats, floor: float) -> Floats:
    """Return the curves on linear and on logarithmic axes, in units of the tolerances."""
    span = float(np.ptp(rows)) or 1.0
    decades = np.log10(np.maximum(rows, floor))
    noise = np.minimum(decades, np.log10(ROUNDING))
    steps = (decades - noise) / LOG_TOLERANCE + noise / NOISE_TOLERANCE
    return np.concatenate([rows / (LINEAR_TOLERANCE * span), steps])


def _distance(axis: Floats, drawn: Floats, points: NDArray[np.intp]) -> Floats:
    """Return the largest error over all curves of straight lines through the points."""
    segment = np.clip(np.searchsorted(points, np.arange(len(axis)), side="right") - 1, 0, None)
    segment = np.minimum(segment, len(points) - 2)
    left, right = points[segment], points[segment + 1]
    width = axis[right] - axis[left]
    share = np.divide(axis - axis[left], width, out=np.zeros_like(axis), where=width > 0)
    between = drawn[:, left] + share * (drawn[:, right] - drawn[:, left])
    return np.asarray(np.abs(drawn - between).max(axis=0))


@dataclass
class Numbers:
    """Arrays packed in one vector in single precision, which the page reads as bytes."""

    _parts: list[NDArray[np.float32]] = field(default_factory=list)
    size: int = 0
    """Number of values in the vector."""

    def add(self, rows: Any) -> list[int]:
        """Append a matrix and return its start and shape."""
        matrix = np.atleast_2d(np.asarray(rows, dtype="<f4"))
        place = [self.size, *matrix.shape]
        self._parts.append(matrix.ravel())
        self.size += matrix.size
        return place

    def encode(self) -> str:
        """Return the vector in base64."""
        vector = np.concatenate(self._parts) if self._parts else np.empty(0, dtype="<f4")
        return base64.b64encode(vector.tobytes()).decode("ascii")
