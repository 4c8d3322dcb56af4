"""Curves small enough for a page: fewer points that draw the same lines, packed as bytes."""

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
"""How far a thinned line may be off on a linear axis, as a share of the curve's range."""
LOG_TOLERANCE = 0.01
"""How far it may be off on a logarithmic axis, in decades."""
NOISE_TOLERANCE = 0.2
"""The same below `ROUNDING`: to follow rounding errors would take most of the points."""


WORST = 0.4
"""Points are added where a line is off by this share of the worst."""


def statistics(rows: Floats) -> Floats:
    """Return `STATISTICS` over the rows; one row stands for all of them."""
    if len(rows) == 1:
        return rows
    quartiles = np.quantile(rows, (0.5, 0.25, 0.75), axis=0)
    return np.concatenate([[rows.mean(axis=0), rows.min(axis=0), rows.max(axis=0)], quartiles])


def thin(at: Floats, rows: Floats, floor: float, most: int) -> tuple[NDArray[np.intp], float]:
    """Choose points so that straight lines between them draw the same curves.

    Starting from the ends, the point that is furthest off in every gap is added until no curve is
    off by more than the tolerances, on linear or logarithmic axes, or there are `most` points.

    Parameters
    ----------
    at
        Where the rows are known, in ascending order.
    rows
        Curves that are to share their points.
    floor
        A logarithmic axis shows what is below it there.
    most
        About how many points to keep: a round of additions is not cut short.

    Returns
    -------
    The points to keep, and how far the curves are off with them, in units of the tolerances.
    """
    count = len(at)
    kept = np.zeros(count, dtype=bool)
    # Zero has no place on a logarithmic axis: what follows it is an end, too.
    kept[[0, -1, *([1] if count > 1 and at[0] <= 0 else [])]] = True
    if count <= 2:
        return np.flatnonzero(kept), 0.0
    drawn = _as_drawn(rows, floor)
    axes = (at, np.log10(np.where(at > 0, at, at[1])))
    while True:
        points = np.flatnonzero(kept)
        off = np.max([_distance(axis, drawn, points) for axis in axes], axis=0)
        off[points] = 0.0  # several may stand at one place, where no line goes through them all
        worst = float(off.max())
        if not worst > 1 or len(points) >= most:
            return points, worst
        # The worst first, in case there is no room for all.
        bad = max(1.0, WORST * worst)
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
    """Return how far lines through the points are off, the curve that is furthest off."""
    segment = np.clip(np.searchsorted(points, np.arange(len(axis)), side="right") - 1, 0, None)
    segment = np.minimum(segment, len(points) - 2)
    left, right = points[segment], points[segment + 1]
    width = axis[right] - axis[left]
    share = np.divide(axis - axis[left], width, out=np.zeros_like(axis), where=width > 0)
    between = drawn[:, left] + share * (drawn[:, right] - drawn[:, left])
    return np.asarray(np.abs(drawn - between).max(axis=0))


@dataclass
class Numbers:
    """Arrays in one long vector of single precision, which the page reads as bytes."""

    _parts: list[NDArray[np.float32]] = field(default_factory=list)
    size: int = 0
    """How many numbers there are."""

    def add(self, rows: Any) -> list[int]:
        """Append a matrix; return where it starts and its shape."""
        matrix = np.atleast_2d(np.asarray(rows, dtype="<f4"))
        place = [self.size, *matrix.shape]
        self._parts.append(matrix.ravel())
        self.size += matrix.size
        return place

    def encode(self) -> str:
        """Return all of them as text."""
        every = np.concatenate(self._parts) if self._parts else np.empty(0, dtype="<f4")
        return base64.b64encode(every.tobytes()).decode("ascii")
