"""Compute the effort of runs to reduce their objective gap to a level."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from gvibench.analysis.configurations import Floats, Runs
from gvibench.analysis.costs import COSTS, cost_of
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

MEASURED = ("evaluations", "data_passes", "seconds")
"""Costs besides the iterations, in the order of the fields of `Effort`."""
LEVELS = (1e-2, 1e-4, 1e-6)
"""Objective gaps in nats for which tables and figures show efforts."""
SOLVED = 1e-4
"""Objective gap in nats at which a problem counts as solved, once the gap stays below it."""
Target = tuple[Literal["first", "settled"], float]
"""Kind and level: a gap is at most the level for the first time, or it stays there."""


class Effort(NamedTuple):
    """Cost of each run to reduce its objective gap to a level, NaN if it did not.

    The iteration is interpolated between two records, assuming that the gap decays exponentially.
    The other costs are interpolated linearly at this iteration. The cost of the study lies between
    `least` and `most`, the limits given by the recording schedule. If all iterations are recorded,
    both limits are equal and nothing is interpolated.
    """

    iterations: Floats
    evaluations: Floats
    data_passes: Floats
    seconds: Floats
    least: Floats
    most: Floats

    def cost(self, name: str) -> Floats:
        """Return the cost called `name`."""
        values: Floats = getattr(self, name)
        return values


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
    unknown = xr.full_like(gaps, np.nan)
    costs = [dataset[COSTS[name].curve] if name in dataset else unknown for name in MEASURED]
    arrays = [
        *(curve.reset_coords(drop=True) for curve in (gaps, dataset["iteration"], *costs)),
        xr.DataArray(floor, dims="run"),
    ]
    names, chosen = Effort._fields, Effort._fields.index(cost_of(dataset).name)
    return {
        target: dict(
            zip(
                names,
                along_records(partial(_reach, target, chosen), *arrays, outputs=len(names)),
                strict=True,
            )
        )
        for target in targets
    }


def _reach(
    target: Target, chosen: int, gaps: Floats, iteration: Floats, *costs_and_floor: Floats
) -> tuple[Floats, ...]:
    """Return the fields of the effort of some runs. `chosen` is the cost that has limits."""
    kind, level = target
    *costs, floor = costs_and_floor
    within = gaps <= level
    if kind == "settled":
        leaves = np.isfinite(gaps) & ~within
        within &= ~np.logical_or.accumulate(leaves[:, ::-1], axis=1)[:, ::-1]
    return _interpolated(gaps, [iteration, *costs], floor[:, 0], level, within, chosen)


def _interpolated(
    gaps: Floats,
    costs: Sequence[Floats],
    floor: Floats,
    level: float,
    within: NDArray[np.bool_],
    chosen: int,
) -> tuple[Floats, ...]:
    """Interpolate between the first record within the level and the record before it."""
    rows = np.arange(len(gaps))
    reached, at = within.any(axis=1), within.argmax(axis=1)
    before = _record_before(gaps, at)
    starts, stops = ([cost[rows, k] for cost in costs] for k in (before, at))
    start, stop = starts[0], stops[0]
    left, right = gaps[rows, before], gaps[rows, at]
    with np.errstate(all="ignore"):
        share = np.log(left / level) / np.log(left / np.maximum(right, floor))
        share = np.where(np.isfinite(share), np.clip(share, 0.0, 1.0), 1.0)
        needed = np.minimum(np.ceil(start + share * (stop - start) - 1e-9), stop)
        needed = np.where(stop > start, np.maximum(needed, start + 1), stop)
        shares = [
            np.where(stop > start, steps / (stop - start), 1.0) for steps in (needed - start, 1.0)
        ]
        spent, least = (
            [low + share * (high - low) for low, high in zip(starts, stops, strict=True)]
            for share in shares
        )
    values = needed, *spent[1:], least[chosen], stops[chosen]
    return tuple(np.where(reached, value, np.nan) for value in values)


def _record_before(gaps: Floats, at: Runs) -> Runs:
    """Return the index of the last record before `at`, or `at` itself if there is none."""
    indices = np.where(np.isnan(gaps), -1, np.arange(gaps.shape[1]))
    latest = np.maximum.accumulate(indices, axis=1)
    rows = np.arange(len(gaps))
    before = np.where(at > 0, latest[rows, np.maximum(at - 1, 0)], at)
    return np.asarray(np.where(before < 0, at, before))
