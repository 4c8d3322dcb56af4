"""Compute the effort of runs to reduce their objective gap to a level."""

from collections.abc import Iterable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from gvibench.analysis.configurations import Floats, Runs
from gvibench.analysis.gaps import along_records, computed, gap, reference, rounding

__all__ = [
    "LEVELS",
    "SOLVED",
    "Effort",
    "Target",
    "efforts",
    "first_reached",
    "lazy_efforts",
    "settled",
]

LEVELS = (1e-2, 1e-4, 1e-6)
"""Objective gaps in nats for which tables and figures show efforts."""
SOLVED = 1e-4
"""Objective gap in nats at which a problem counts as solved, once the gap stays below it."""
Target = tuple[Literal["first", "settled"], float]
"""Kind and level: a gap is at most the level for the first time, or it stays there."""


class Effort(NamedTuple):
    """Cost of each run to reduce its objective gap to a level, NaN if it did not.

    The iteration is interpolated between two records, assuming that the gap decays exponentially.
    It lies between `least` and `most`, the limits given by the recording schedule. If all
    iterations are recorded, both limits are equal and nothing is interpolated.
    """

    iterations: Floats
    seconds: Floats
    least: Floats
    most: Floats


def first_reached(dataset: xr.Dataset, level: float) -> Effort:
    """Return the effort until the objective gap of a run is at most `level` for the first time."""
    return efforts(dataset, [("first", level)])["first", level]


def settled(dataset: xr.Dataset, level: float) -> Effort:
    """Return the effort after which the objective gap of a run stays at most `level`."""
    return efforts(dataset, [("settled", level)])["settled", level]


def efforts(dataset: xr.Dataset, targets: Iterable[Target]) -> dict[Target, Effort]:
    """Return the effort for each target. All curves are read once."""
    lazy = lazy_efforts(dataset, targets)
    values = computed({f"{t} {name}": array for t in lazy for name, array in lazy[t].items()})
    return {t: Effort(*(values[f"{t} {name}"] for name in Effort._fields)) for t in lazy}


def lazy_efforts(
    dataset: xr.Dataset, targets: Iterable[Target]
) -> dict[Target, dict[str, xr.DataArray]]:
    """Return the fields of the effort for each target, not yet computed."""
    gaps = gap(dataset, "objective")
    floor = rounding(dataset, reference(dataset, "objective"))
    seconds = dataset["seconds"] if "seconds" in dataset else xr.full_like(gaps, np.nan)
    arrays = [
        *(curve.reset_coords(drop=True) for curve in (gaps, dataset["iteration"], seconds)),
        xr.DataArray(floor, dims="run"),
    ]
    names = Effort._fields
    return {
        target: dict(
            zip(
                names,
                along_records(partial(_reach, target), *arrays, outputs=len(names)),
                strict=True,
            )
        )
        for target in targets
    }


def _reach(
    target: Target, gaps: Floats, iteration: Floats, seconds: Floats, floor: Floats
) -> tuple[Floats, ...]:
    """Return the fields of the effort of some runs."""
    kind, level = target
    within = gaps <= level
    if kind == "settled":
        leaves = np.isfinite(gaps) & ~within
        within &= ~np.logical_or.accumulate(leaves[:, ::-1], axis=1)[:, ::-1]
    return _interpolated(gaps, iteration, seconds, floor[:, 0], level, within)


def _interpolated(
    gaps: Floats,
    iteration: Floats,
    seconds: Floats,
    floor: Floats,
    level: float,
    within: NDArray[np.bool_],
) -> tuple[Floats, ...]:
    """Interpolate between the first record within the level and the record before it."""
    rows = np.arange(len(gaps))
    reached, at = within.any(axis=1), within.argmax(axis=1)
    before = _record_before(gaps, at)
    start, stop = iteration[rows, before], iteration[rows, at]
    left, right = gaps[rows, before], gaps[rows, at]
    with np.errstate(all="ignore"):
        share = np.log(left / level) / np.log(left / np.maximum(right, floor))
        share = np.where(np.isfinite(share), np.clip(share, 0.0, 1.0), 1.0)
        needed = np.minimum(np.ceil(start + share * (stop - start) - 1e-9), stop)
        needed = np.where(stop > start, np.maximum(needed, start + 1), stop)
        share = np.where(stop > start, (needed - start) / (stop - start), 1.0)
        spent = seconds[rows, before] + share * (seconds[rows, at] - seconds[rows, before])
    least = np.where(stop > start, start + 1, stop)
    return tuple(np.where(reached, value, np.nan) for value in (needed, spent, least, stop))


def _record_before(gaps: Floats, at: Runs) -> Runs:
    """Return the index of the last record before `at`, or `at` itself if there is none."""
    indices = np.where(np.isnan(gaps), -1, np.arange(gaps.shape[1]))
    latest = np.maximum.accumulate(indices, axis=1)
    rows = np.arange(len(gaps))
    before = np.where(at > 0, latest[rows, np.maximum(at - 1, 0)], at)
    return np.asarray(np.where(before < 0, at, before))
