"""Summarise the seeds of a configuration along an axis by a centre, a minimum and a maximum."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import Configuration, Floats

__all__ = ["CENTERS", "band_table", "load_runs", "seeds_over", "seeds_over_iterations"]

MIN_GEOMETRIC = 1e-16
"""Lower limit of values in a geometric mean, because zero has no logarithm."""
MAX_RUNS = 2000
"""Maximum number of runs whose curves are in memory at a time."""


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


def band_table(
    values: xr.DataArray,
    configs: Sequence[Configuration],
    center: str,
    clock: xr.DataArray | None = None,
    *,
    is_time: bool = False,
) -> pd.DataFrame:
    """Return the bands of configurations as a tidy table.

    Parameters
    ----------
    values
        Metric or gap, an array (run, record) with the coordinate `iteration`.
    configs
        Configurations, whose order is the order of the rows.
    center
        Name of a centre in `CENTERS`.
    clock
        Cost of each record, an array like `values`. Without a clock, the bands are along the
        iterations.
    is_time
        Whether the clock counts seconds. These differ between runs, so that the bands are along
        common times, up to the end of the shortest run.

    Returns
    -------
    Table with the columns `panel`, `line`, `at`, `center`, `low` and `high`. A configuration
    without usable seeds has no rows.
    """
    curves = {"values": values, "at": values["iteration"] if clock is None else clock}
    parts = []
    for config, rows in load_runs(curves, configs):
        seeds = seeds_over if is_time else seeds_over_iterations
        at, lines = seeds(rows["at"], rows["values"])
        columns = {"at": at, "center": at, "low": at, "high": at}
        if lines.size:
            columns["center"] = CENTERS[center][1](lines)
            columns["low"], columns["high"] = lines.min(axis=0), lines.max(axis=0)
        part = pd.DataFrame(columns)
        part.insert(0, "panel", config.panel)
        part.insert(1, "line", config.line)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def load_runs(
    curves: dict[str, xr.DataArray], configs: Sequence[Configuration]
) -> Iterator[tuple[Configuration, dict[str, Floats]]]:
    """Yield each configuration with the curves of its usable runs, as arrays (run, record).

    Several configurations are loaded at a time, so that a shard is not read once for each of them.
    """
    dataset = xr.Dataset({name: curve.reset_coords(drop=True) for name, curve in curves.items()})
    start = 0
    while start < len(configs):
        stop, count = start + 1, len(configs[start].usable)
        while stop < len(configs) and count + len(configs[stop].usable) <= MAX_RUNS:
            count += len(configs[stop].usable)
            stop += 1
        block = configs[start:stop]
        runs = np.concatenate([config.usable for config in block])
        loaded = dataset.isel(run=runs).compute()
        end = 0
        for config in block:
            rows = slice(end, end + len(config.usable))
            end = rows.stop
            yield config, {name: loaded[name].values[rows] for name in curves}
        start = stop


def seeds_over_iterations(iteration: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return the recorded iterations and a row of values for each run.

    The row of a run that stopped early repeats its last value.
    """
    known = ~np.isnan(values)
    at = np.unique(iteration[known])
    rows = np.full((len(values), len(at)), np.nan)
    run, record = np.nonzero(known)
    rows[run, np.searchsorted(at, iteration[run, record])] = values[run, record]
    return at, _carry_forward(rows)


def seeds_over(clock: Floats, values: Floats, points: int = 200) -> tuple[Floats, Floats]:
    """Return common times and a row of values for each run.

    The clock (run, record) counts the seconds or the passes over the data of each run. The
    times end where the first run stopped. Between two records a run keeps the earlier value.
    The first time appears twice: with the initial values, because a logarithmic axis cannot show
    time zero, and with the values after the first step of the fastest run.
    """
    known = ~np.isnan(values) & ~np.isnan(clock)
    curves = [(clock[run, k], values[run, k]) for run, k in enumerate(known)]
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


def _carry_forward(rows: Floats) -> Floats:
    """Replace each NaN with the last value before it. Rows must not start with NaN."""
    known = np.where(np.isnan(rows), 0, np.arange(rows.shape[1]))
    return np.asarray(np.take_along_axis(rows, np.maximum.accumulate(known, axis=1), axis=1))
