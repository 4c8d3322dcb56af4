"""Measure how far runs are from the best: gaps along their iterations, and the effort they took.

Runs that diverged or failed are results, too: they are counted, but their values enter no
statistic, no band and no best value seen. In arrays along `run` they are NaN.
"""

import json
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from gvibench.analysis.configurations import EXACT, Floats, Runs, problem_key, usable

__all__ = [
    "ROUNDING",
    "Effort",
    "final",
    "first_reached",
    "gap",
    "measured",
    "reference",
    "settled",
]

OBJECTIVES = ("objective", "neg_elbo", "train_elbo_paper")
"""Metrics that contain the expected training loss, and so depend on how it is taken."""
HIGHER_IS_BETTER = ("test_accuracy",)
ROUNDING = 1e-10
"""Values this little below their reference (relative) are as good as it."""
SINGLE_ROUNDING = 1e-6
"""The same for runs in single precision."""


def gap(dataset: xr.Dataset, metric: str) -> xr.DataArray:
    """Return how far each run is from the best, along its iterations: (run, iteration).

    The objective, and at gamma = 1 the negative ELBO, which is lowest at the same point, is
    measured from the optimum if the study asks for it and it is known. Everything else is measured
    from the best value that any run on the same problem has seen. Values below their reference by
    rounding only become zero.
    """
    best = reference(dataset, metric)[:, np.newaxis]
    values = np.asarray(measured(dataset, metric) - best)
    if metric in HIGHER_IS_BETTER:
        values = -values
    values[~usable(dataset)] = np.nan
    values[(values < 0) & (values >= -_rounding(dataset, best[:, 0])[:, np.newaxis])] = 0.0
    if (values < 0).any():
        count = int((values < 0).any(axis=1).sum())
        warnings.warn(
            f"{metric}: {count} runs got below the optimum they are measured from, "
            f"by up to {-np.nanmin(values):.2g}",
            stacklevel=2,
        )
    return xr.DataArray(
        values,
        dims=("run", "iteration"),
        coords={"iteration": dataset["iteration"]},
        name=f"{metric}_gap",
        attrs={"units": dataset[metric].attrs.get("units", "1")},
    )


def measured(dataset: xr.Dataset, metric: str) -> Floats:
    """Return the values by which runs are compared: (run, iteration).

    Runs that record `objective_exact` are compared by it, whatever approximation they descend:
    the metrics that contain the training loss are shifted by the difference. Their test NLL has
    been recorded with exact expectations.
    """
    values = np.asarray(dataset[metric].values)
    if metric not in OBJECTIVES or EXACT not in dataset:
        return values
    exact = np.asarray(dataset[EXACT].values)
    if metric != "objective":
        exact = values + (exact - dataset["objective"].values)
    return np.where(_has_exact(dataset)[:, np.newaxis], exact, values)


def _has_exact(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Return for each run whether it has recorded its objective with exact expectations."""
    if EXACT not in dataset:
        return np.zeros(dataset.sizes["run"], dtype=bool)
    return np.asarray(np.isfinite(dataset[EXACT].values).any(axis=1))


def reference(dataset: xr.Dataset, metric: str) -> Floats:
    """Return the value that each run's gap is measured from."""
    seen = _best_seen(dataset, metric)
    if metric not in {"objective", "neg_elbo"} or dataset.attrs["gap"] != "optimum":
        return seen
    optimum = np.asarray(dataset[f"optimum_{metric}"].values)
    if f"optimum_{EXACT}" in dataset:
        # The optimum of an approximation does not minimise the exact negative ELBO.
        exact = dataset[f"optimum_{EXACT}"].values if metric == "objective" else np.nan
        optimum = np.where(_has_exact(dataset), exact, optimum)
    if metric == "neg_elbo":
        optimum = np.where(_temperatures(dataset) == 1.0, optimum, np.nan)
    return np.where(np.isfinite(optimum), optimum, seen)


def _temperatures(dataset: xr.Dataset) -> Floats:
    return np.array([json.loads(spec)["gamma"] for spec in dataset["spec"].values])


def _rounding(dataset: xr.Dataset, best: Floats) -> Floats:
    """Return by how much rounding may bring the values of each run below their reference."""
    single = [json.loads(spec)["dtype"] == "float32" for spec in dataset["spec"].values]
    return np.asarray(np.where(single, SINGLE_ROUNDING, ROUNDING) * (1 + np.abs(best)))


def _best_seen(dataset: xr.Dataset, metric: str) -> Floats:
    values = measured(dataset, metric)
    done = usable(dataset)
    best = partial(np.fmax.reduce, initial=-np.inf)
    if metric not in HIGHER_IS_BETTER:
        best = partial(np.fmin.reduce, initial=np.inf)
    by_problem: dict[str, list[int]] = {}
    for run, (name, spec) in enumerate(
        zip(dataset["dataset"].values, dataset["spec"].values, strict=True)
    ):
        by_problem.setdefault(problem_key(name, json.loads(spec)), []).append(run)
    seen = np.full(dataset.sizes["run"], np.nan)
    for runs in by_problem.values():
        lowest = best(values[[run for run in runs if done[run]]], axis=None)
        seen[runs] = lowest if np.isfinite(lowest) else np.nan
    return seen


def final(values: Floats) -> Floats:
    """Return the last known value of each row; NaN where there is none."""
    known = ~np.isnan(values)
    last = values.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    return np.asarray(values[np.arange(len(values)), last])


class Effort(NamedTuple):
    """What each run spent to bring its objective gap down to a level; NaN if it did not.

    Between two records the gap is taken to fall exponentially. The iteration is then somewhere
    between `least` and `most`, which the schedule decides; with a record at each iteration the two
    are equal and nothing is estimated.
    """

    iterations: Floats
    seconds: Floats
    least: Floats
    most: Floats


def first_reached(dataset: xr.Dataset, level: float) -> Effort:
    """Return the effort until a run's objective gap is first at most `level`."""
    gaps = gap(dataset, "objective").values
    within = gaps <= level
    return _effort(dataset, gaps, level, within)


def settled(dataset: xr.Dataset, level: float) -> Effort:
    """Return the effort from which on a run's objective gap stays at most `level`."""
    gaps = gap(dataset, "objective").values
    within, recorded = gaps <= level, np.isfinite(gaps)
    leaves = np.logical_or.accumulate((recorded & ~within)[:, ::-1], axis=1)[:, ::-1]
    stays = within & ~leaves
    return _effort(dataset, gaps, level, stays)


def _effort(dataset: xr.Dataset, gaps: Floats, level: float, within: NDArray[np.bool_]) -> Effort:
    """Interpolate between the first record within the level and the one before it."""
    rows = np.arange(len(gaps))
    reached, at = within.any(axis=1), within.argmax(axis=1)
    before = _record_before(gaps, at)
    iteration = np.asarray(dataset["iteration"].values, dtype=float)
    seconds = (
        np.asarray(dataset["seconds"].values)
        if "seconds" in dataset
        else np.full_like(gaps, np.nan)
    )
    start, stop = iteration[before], iteration[at]
    left, right = gaps[rows, before], gaps[rows, at]
    floor = _rounding(dataset, reference(dataset, "objective"))
    with np.errstate(all="ignore"):
        share = np.log(left / level) / np.log(left / np.maximum(right, floor))
        share = np.where(np.isfinite(share), np.clip(share, 0.0, 1.0), 1.0)
        found = np.minimum(np.ceil(start + share * (stop - start) - 1e-9), stop)
        found = np.where(stop > start, np.maximum(found, start + 1), stop)
        share = np.where(stop > start, (found - start) / (stop - start), 1.0)
        spent = seconds[rows, before] + share * (seconds[rows, at] - seconds[rows, before])
    least = np.where(stop > start, start + 1, stop)
    return Effort(*(np.where(reached, value, np.nan) for value in (found, spent, least, stop)))


def _record_before(gaps: Floats, at: Runs) -> Runs:
    """Return the last recorded place before each of the given ones; itself if it is the first."""
    places = np.where(np.isnan(gaps), -1, np.arange(gaps.shape[1]))
    latest = np.maximum.accumulate(places, axis=1)
    rows = np.arange(len(gaps))
    before = np.where(at > 0, latest[rows, np.maximum(at - 1, 0)], at)
    return np.asarray(np.where(before < 0, at, before))
