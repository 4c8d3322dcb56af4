"""Compute the gaps of runs along their iterations, and the effort to reach a small gap.

Runs that diverged or failed are counted as results, but no statistic, band or best value uses
their values. In arrays along `run` they are NaN.
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
"""Metrics that contain the expected training loss and thus depend on its approximation."""
HIGHER_IS_BETTER = ("test_accuracy",)
ROUNDING = 1e-10
"""Relative tolerance below the reference within which a gap counts as zero."""
SINGLE_ROUNDING = 1e-6
"""`ROUNDING` for runs in single precision."""


def gap(dataset: xr.Dataset, metric: str) -> xr.DataArray:
    """Return the distance of each run from the best value, as an array (run, iteration).

    Gaps of the objective are measured from the optimum if the study sets `gap: optimum` and the
    optimum is known. So are gaps of the negative ELBO at gamma = 1, where both have the same
    minimiser. All other gaps are measured from the best value of any run on the same problem.
    Values that are below their reference only by rounding become zero.
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
            f"{metric}: {count} runs have values below the optimum, by up to "
            f"{-np.nanmin(values):.2g}",
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
    """Return the values of a metric by which runs are compared, as an array (run, iteration).

    Runs that record `objective_exact` are compared by it, independent of the approximation that
    they minimise. Their test NLL is recorded with exact expectations, too. Their other metrics
    that contain the training loss are shifted by the difference between both objectives.
    """
    values = np.asarray(dataset[metric].values)
    if metric not in OBJECTIVES or EXACT not in dataset:
        return values
    exact = np.asarray(dataset[EXACT].values)
    if metric != "objective":
        exact = values + (exact - dataset["objective"].values)
    return np.where(_has_exact(dataset)[:, np.newaxis], exact, values)


def _has_exact(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Return a mask of the runs that recorded their objective with exact expectations."""
    if EXACT not in dataset:
        return np.zeros(dataset.sizes["run"], dtype=bool)
    return np.asarray(np.isfinite(dataset[EXACT].values).any(axis=1))


def reference(dataset: xr.Dataset, metric: str) -> Floats:
    """Return the reference value of each run, from which its gap is measured."""
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
    """Return the absolute rounding tolerance of each run below its reference."""
    single = [json.loads(spec)["dtype"] == "float32" for spec in dataset["spec"].values]
    return np.asarray(np.where(single, SINGLE_ROUNDING, ROUNDING) * (1 + np.abs(best)))


def _best_seen(dataset: xr.Dataset, metric: str) -> Floats:
    """Return, for each run, the best value of all usable runs on the same problem."""
    values = measured(dataset, metric)
    is_usable = usable(dataset)
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
        value = best(values[[run for run in runs if is_usable[run]]], axis=None)
        seen[runs] = value if np.isfinite(value) else np.nan
    return seen


def final(values: Floats) -> Floats:
    """Return the last value of each row that is not NaN, or NaN if there is none."""
    known = ~np.isnan(values)
    last = values.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    return np.asarray(values[np.arange(len(values)), last])


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
    gaps = gap(dataset, "objective").values
    within = gaps <= level
    return _effort(dataset, gaps, level, within)


def settled(dataset: xr.Dataset, level: float) -> Effort:
    """Return the effort after which the objective gap of a run stays at most `level`."""
    gaps = gap(dataset, "objective").values
    within, recorded = gaps <= level, np.isfinite(gaps)
    leaves = np.logical_or.accumulate((recorded & ~within)[:, ::-1], axis=1)[:, ::-1]
    stays = within & ~leaves
    return _effort(dataset, gaps, level, stays)


def _effort(dataset: xr.Dataset, gaps: Floats, level: float, within: NDArray[np.bool_]) -> Effort:
    """Interpolate between the first record within the level and the record before it."""
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
        needed = np.minimum(np.ceil(start + share * (stop - start) - 1e-9), stop)
        needed = np.where(stop > start, np.maximum(needed, start + 1), stop)
        share = np.where(stop > start, (needed - start) / (stop - start), 1.0)
        spent = seconds[rows, before] + share * (seconds[rows, at] - seconds[rows, before])
    least = np.where(stop > start, start + 1, stop)
    return Effort(*(np.where(reached, value, np.nan) for value in (needed, spent, least, stop)))


def _record_before(gaps: Floats, at: Runs) -> Runs:
    """Return the index of the last record before `at`, or `at` itself if there is none."""
    indices = np.where(np.isnan(gaps), -1, np.arange(gaps.shape[1]))
    latest = np.maximum.accumulate(indices, axis=1)
    rows = np.arange(len(gaps))
    before = np.where(at > 0, latest[rows, np.maximum(at - 1, 0)], at)
    return np.asarray(np.where(before < 0, at, before))
