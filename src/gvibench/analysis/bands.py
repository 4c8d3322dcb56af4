"""Summarise the seeds of a configuration along an axis: a centre, and a band from min to max."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import Configuration, Floats

__all__ = [
    "CENTERS",
    "Band",
    "band_over_iterations",
    "bands_over_seconds",
    "center_of",
    "seeds_over",
    "seeds_over_iterations",
]

SMALLEST = 1e-16
"""Values below this enter a geometric mean as this: zero has no logarithm."""


def _geometric(rows: Floats) -> Floats:
    return np.asarray(np.exp(np.log(np.maximum(rows, SMALLEST)).mean(axis=0)))


CENTERS: dict[str, tuple[str, Callable[[Floats], Floats]]] = {
    "median": ("median", lambda rows: np.asarray(np.median(rows, axis=0))),
    "mean": ("mean", lambda rows: np.asarray(rows.mean(axis=0))),
    "geometric": ("geometric mean", _geometric),
}
"""What a line may show over the seeds: its name for readers, and the function of the rows.

An arithmetic mean on a logarithmic axis follows the worst seed, so it is not the default.
"""


def center_of(rows: Floats, center: str) -> Floats:
    """Return the centre of some rows, one for each seed."""
    return CENTERS[center][1](rows)


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
    """Return the band over the usable seeds of a configuration."""
    return _band(*seeds_over_iterations(values, configuration), center)


def seeds_over_iterations(
    values: xr.DataArray, configuration: Configuration
) -> tuple[Floats, Floats]:
    """Return the recorded iterations and a row of values for each usable seed.

    A run that stopped before the others stays where it stopped.
    """
    rows = values.values[configuration.usable]
    recorded = ~np.isnan(rows).all(axis=0)
    at = np.asarray(values["iteration"].values, dtype=float)[recorded]
    return at, _carry_forward(rows[:, recorded])


def bands_over_seconds(
    dataset: xr.Dataset,
) -> Callable[[xr.DataArray, Configuration, str], Band]:
    """Return a function that puts values against the solver time of their runs.

    The band is at common times, up to the time at which the first seed stopped.
    """
    seconds = np.asarray(dataset["seconds"].values)
    return lambda values, configuration, center: _band(
        *seeds_over(seconds, values, configuration), center
    )


def seeds_over(
    clock: Floats, values: xr.DataArray, configuration: Configuration, points: int = 200
) -> tuple[Floats, Floats]:
    """Return common times, up to that at which the first seed stopped, and a row for each seed.

    The clock (run, iteration) counts what each run has spent: seconds, or passes over the data.
    Between two records a run has the value of the earlier one. The band begins at the first step
    of the fastest seed, twice: with the values of the start, which a logarithmic axis has no
    other place for, and with those after the step.
    """
    curves = []
    for run in configuration.usable:
        known = ~np.isnan(values.values[run]) & ~np.isnan(clock[run])
        curves.append((clock[run, known], values.values[run, known]))
    curves = [(times, found) for times, found in curves if len(times) > 1]
    if not curves:
        return np.empty(0), np.empty((1, 0))
    start = min(times[1] for times, _ in curves)
    stop = min(times[-1] for times, _ in curves)
    grid = np.geomspace(start, stop, points) if start > 0 else np.array([stop])
    grid[0], grid[-1] = start, stop  # exactly: rounding must not fall short of a record
    rows = [
        np.append(found[0], found[np.searchsorted(times, grid, side="right") - 1])
        for times, found in curves
    ]
    return np.append(grid[0], grid), np.array(rows)


def _band(at: Floats, rows: Floats, center: str) -> Band:
    if len(rows) == 0:
        return Band(np.empty(0), np.empty(0), np.empty(0), np.empty(0))
    return Band(at, center_of(rows, center), rows.min(axis=0), rows.max(axis=0))


def _carry_forward(rows: Floats) -> Floats:
    """Fill unknown values with the last value known before them; each row starts known."""
    known = np.where(np.isnan(rows), 0, np.arange(rows.shape[1]))
    return np.asarray(np.take_along_axis(rows, np.maximum.accumulate(known, axis=1), axis=1))
