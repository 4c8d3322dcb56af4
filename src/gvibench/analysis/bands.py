"""Summarise the seeds of a configuration along an axis by a centre, a minimum and a maximum."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import Configuration, Floats

__all__ = [
    "CENTERS",
    "Band",
    "band_at",
    "band_over_iterations",
    "bands_over_seconds",
    "seeds_over",
    "seeds_over_iterations",
]

MIN_GEOMETRIC = 1e-16
"""Lower limit of values in a geometric mean, because zero has no logarithm."""


def _geometric(rows: Floats) -> Floats:
    return np.asarray(np.exp(np.log(np.maximum(rows, MIN_GEOMETRIC)).mean(axis=0)))


CENTERS: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
    "median": ("median", lambda rows: np.asarray(np.median(rows, axis=0))),
    "mean": ("mean", lambda rows: np.asarray(rows.mean(axis=0))),
    "geometric": ("geometric mean", _geometric),
}
"""Name for readers and function of the rows, by the name of a centre in the config.

The arithmetic mean is not the default because the worst seed dominates it on a logarithmic axis.
"""


@dataclass(frozen=True)
class Band:
    """Centre, minimum and maximum over seeds along an axis."""

    at: Floats
    center: Floats
    low: Floats
    high: Floats


def band_over_iterations(
    values: xr.DataArray, configuration: Configuration, center: str = "median"
) -> Band:
    """Return the band over the usable seeds of a configuration along the iterations."""
    return _band(*seeds_over_iterations(values, configuration), center)


def seeds_over_iterations(
    values: xr.DataArray, configuration: Configuration
) -> tuple[Floats, Floats]:
    """Return the recorded iterations and a row of values for each usable seed.

    The row of a run that stopped early repeats its last value.
    """
    rows = values.values[configuration.usable]
    recorded = ~np.isnan(rows).all(axis=0)
    at = np.asarray(values["iteration"].values, dtype=float)[recorded]
    return at, _carry_forward(rows[:, recorded])


def band_at(at: Sequence[float], groups: Sequence[Floats], center: str) -> Band:
    """Return the band of groups of values, one group for each position."""
    middle, low, high = (
        np.array([reduce(values) for values in groups], dtype=float)
        for reduce in (CENTERS[center][1], np.min, np.max)
    )
    return Band(np.array(at, dtype=float), middle, low, high)


def bands_over_seconds(
    dataset: xr.Dataset,
) -> Callable[[xr.DataArray, Configuration, str], Band]:
    """Return a function that computes the band of a configuration along its solver time.

    The band covers common times, up to the time at which the first seed stopped.
    """
    seconds = np.asarray(dataset["seconds"].values)
    return lambda values, configuration, center: _band(
        *seeds_over(seconds, values, configuration), center
    )


def seeds_over(
    clock: Floats, values: xr.DataArray, configuration: Configuration, points: int = 200
) -> tuple[Floats, Floats]:
    """Return common times and a row of values for each usable seed.

    The clock (run, iteration) counts the seconds or the passes over the data of each run. The
    times end where the first seed stopped. Between two records a run keeps the earlier value.
    The first time appears twice: with the initial values, because a logarithmic axis cannot show
    time zero, and with the values after the first step of the fastest seed.
    """
    curves = []
    for run in configuration.usable:
        known = ~np.isnan(values.values[run]) & ~np.isnan(clock[run])
        curves.append((clock[run, known], values.values[run, known]))
    curves = [(times, seen) for times, seen in curves if len(times) > 1]
    if not curves:
        return np.empty(0), np.empty((1, 0))
    start = min(times[1] for times, _ in curves)
    stop = min(times[-1] for times, _ in curves)
    grid = np.geomspace(start, stop, points) if start > 0 else np.array([stop])
    grid[0], grid[-1] = start, stop  # Rounding must not fall short of a record.
    rows = [
        np.append(seen[0], seen[np.searchsorted(times, grid, side="right") - 1])
        for times, seen in curves
    ]
    return np.append(grid[0], grid), np.array(rows)


def _band(at: Floats, rows: Floats, center: str) -> Band:
    if len(rows) == 0:
        return Band(np.empty(0), np.empty(0), np.empty(0), np.empty(0))
    return Band(at, CENTERS[center][1](rows), rows.min(axis=0), rows.max(axis=0))


def _carry_forward(rows: Floats) -> Floats:
    """Replace each NaN with the last value before it. Rows must not start with NaN."""
    known = np.where(np.isnan(rows), 0, np.arange(rows.shape[1]))
    return np.asarray(np.take_along_axis(rows, np.maximum.accumulate(known, axis=1), axis=1))
