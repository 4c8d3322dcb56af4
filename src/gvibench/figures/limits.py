"""Choose scales and limits of axes so that the start of curves does not hide their end."""

import pandas as pd
from matplotlib.axes import Axes

from gvibench.figures.coincident import to_fractions

__all__ = ["leave_out_start", "needs_log", "widen_shares"]

MIN_LOG_RATIO = 5.0
"""Ratio of the values of a panel from which their axis is logarithmic."""
START_SHARE, BAND_SHARE = 0.15, 0.5
"""Shares of the horizontal axis from which on the centres and the bands lie within the limits."""
MAX_RATIO = 1.6
"""Ratio of the full range to the range without the start up to which nothing is left out."""
MIN_SPAN = 0.2
"""Smallest part of the full range that the axis shows."""
MIN_SHARES = 0.05
"""Smallest range of an axis of accuracies."""
MARGIN = 0.06


def needs_log(table: pd.DataFrame) -> bool:
    """Return whether a quantity that is positive in all panels varies by a large factor in one."""
    if table.empty or not (table["low"] > 0).all():
        return False
    centers = table.groupby("panel")["center"]
    return bool((centers.max() >= MIN_LOG_RATIO * centers.min()).any())


def leave_out_start(axes: Axes, table: pd.DataFrame, x: str) -> bool:
    """Limit the y axis to the range of the curves and bands without their start.

    Call this after the scales of the axes are set.

    Returns
    -------
    Whether some values lie outside the limits.
    """
    if table.empty:
        return False
    at = to_fractions(axes, table[x], table["center"])[0]
    center, low, high = (
        to_fractions(axes, table[x], table[name])[1] for name in ("center", "low", "high")
    )
    # A line that ends early is represented by its last point.
    is_late = (at >= START_SHARE) | ~table.duplicated("line", keep="last").to_numpy()
    bottom, top = center[is_late].min(), center[is_late].max()
    # Bands may double the range of the centres on each side, so that an outlier does not hide them.
    span = max(top - bottom, 0.02)
    in_band = at >= BAND_SHARE
    bottom = max(min(low[in_band].min(initial=bottom), bottom), bottom - span)
    top = min(max(high[in_band].max(initial=top), top), top + span)
    # Values that are almost constant at the end keep some of the full range around them.
    pad = max(MIN_SPAN * (high.max() - low.min()) - (top - bottom), 0.0)
    above = min(max(0.5 * pad, pad - (bottom - low.min())), high.max() - top)
    bottom, top = max(bottom - (pad - above), low.min()), top + above
    span = top - bottom
    if high.max() - low.min() <= MAX_RATIO * span:
        return False
    inverse = (axes.transData + axes.transAxes.inverted()).inverted()
    corners = [(0.0, bottom - MARGIN * span), (1.0, top + MARGIN * span)]
    axes.set_ylim(*inverse.transform(corners)[:, 1])
    return True


def widen_shares(axes: Axes) -> None:
    """Widen the y axis of shares that are almost constant, so that it shows no tiny differences."""
    low, high = axes.get_ylim()
    missing = MIN_SHARES - (high - low)
    if missing > 0:
        # Shares are at most 1, so that the axis grows downwards there.
        top = min(high + 0.5 * missing, max(1.0 + MARGIN * MIN_SHARES, high))
        axes.set_ylim(top - MIN_SHARES, top)
