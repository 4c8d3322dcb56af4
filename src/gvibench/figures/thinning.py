"""Reduce lines with very many points to what a reader can distinguish."""

import numpy as np
import pandas as pd

from gvibench.analysis.configurations import Floats

__all__ = ["MAX_POINTS", "thin"]

MAX_POINTS = 400
"""Number of points up to which a line is drawn as it is."""
MIN_SHARE = 0.1
"""Share of the intervals with an oscillation from which a line counts as oscillating."""
MIN_RATIO = 1.3
"""Ratio of the largest to the smallest value in an interval that counts as an oscillation."""


def thin(table: pd.DataFrame, x: str) -> tuple[pd.DataFrame, list[str]]:
    """Return a band table with at most about `MAX_POINTS` rows per line, and oscillating lines.

    The horizontal axis is divided into intervals of equal width on a logarithmic scale. A line
    keeps one of its points in each interval. If a line oscillates within the intervals, its
    centre becomes their median and its band their range instead, because a selection of its
    points would show a pattern that the values do not have.
    """
    parts, oscillating = [], []
    for (_, line), rows in table.groupby(["panel", "line"], sort=False):
        if len(rows) <= MAX_POINTS:
            parts.append(rows)
            continue
        interval = _intervals(rows[x].to_numpy(dtype=float))
        if _oscillates(rows["center"].to_numpy(dtype=float), interval):
            parts.append(_envelope(rows, interval))
            oscillating.append(str(line))
        else:
            last = np.append(np.diff(interval) > 0, True)
            last[0] = True
            parts.append(rows[last])
    return pd.concat(parts, ignore_index=True) if parts else table, list(dict.fromkeys(oscillating))


def _intervals(at: Floats) -> Floats:
    """Return the number of the interval of each point."""
    scaled = np.log1p(at / max(at[at > 0].min(initial=1.0), 1e-300))
    count = MAX_POINTS - 1
    return np.asarray(np.minimum(np.floor(scaled / scaled.max() * count), count - 1))


def _oscillates(center: Floats, interval: Floats) -> bool:
    """Return whether many intervals contain a rise, a fall and a large ratio of values."""
    groups = pd.DataFrame({"interval": interval, "value": center})
    groups["change"] = groups["value"].diff()
    summary = groups.groupby("interval").agg(
        count=("value", "size"),
        low=("value", "min"),
        high=("value", "max"),
        fall=("change", "min"),
        rise=("change", "max"),
    )
    dense = summary[summary["count"] >= 4]
    both = (dense["fall"] < 0) & (dense["rise"] > 0) & (dense["high"] > MIN_RATIO * dense["low"])
    return bool(len(dense)) and float(both.mean()) >= MIN_SHARE


def _envelope(rows: pd.DataFrame, interval: Floats) -> pd.DataFrame:
    """Return one row per interval, with the median, the minimum and the maximum of its values."""
    groups = rows.groupby(interval)
    summary = groups.last()
    for column, statistic in (("center", "median"), ("low", "min"), ("high", "max")):
        summary[column] = groups[column].agg(statistic)
    return summary.reset_index(drop=True)
