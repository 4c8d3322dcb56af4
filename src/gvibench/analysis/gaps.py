"""Compute the gaps of runs along their records, and the values at which they end.

All functions work on Dask arrays, in which each chunk has all records of some runs, and equally on
NumPy arrays. Runs that diverged or failed are counted as results, but no statistic, band or best
value uses their values. In arrays along `run` they are NaN.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from gvibench.analysis.configurations import (
    EXACT,
    Floats,
    by_run,
    problem_codes,
    specs_of,
    usable,
)

__all__ = [
    "ROUNDING",
    "along_records",
    "computed",
    "final",
    "final_values",
    "gap",
    "has_optimum",
    "measured",
    "reference",
    "rounding",
]

OBJECTIVES = ("objective", "neg_elbo", "train_elbo_paper")
"""Metrics that contain the expected training loss and thus depend on its approximation."""
HIGHER_IS_BETTER = ("test_accuracy",)
ROUNDING = 1e-10
"""Relative tolerance below the reference within which a gap counts as zero."""
SINGLE_ROUNDING = 1e-6
"""`ROUNDING` for runs in single precision."""


def gap(dataset: xr.Dataset, metric: str) -> xr.DataArray:
    """Return the distance of each run from the best value, as an array (run, record).

    Gaps of the objective are measured from the optimum if the study sets `gap: optimum` and the
    optimum is known. So are gaps of the negative ELBO at gamma = 1, where both have the same
    minimiser. All other gaps are measured from the best value of any run on the same problem.
    Values that are below their reference only by rounding become zero.
    """
    best = reference(dataset, metric)
    values = measured(dataset, metric) - _of_runs(best)
    if metric in HIGHER_IS_BETTER:
        values = -values
    values = values.where(_of_runs(usable(dataset)))
    is_rounding = (values < 0) & (values >= -_of_runs(rounding(dataset, best)))
    values = values.where(~is_rounding, 0.0)
    values.attrs = {"units": dataset[metric].attrs.get("units", "1")}
    return values.rename(f"{metric}_gap").assign_coords(iteration=dataset["iteration"])


def measured(dataset: xr.Dataset, metric: str) -> xr.DataArray:
    """Return the values of a metric by which runs are compared, as an array (run, record).

    Runs that record `objective_exact` are compared by it, independent of the approximation that
    they minimise. Their test NLL is recorded with exact expectations, too. Their other metrics
    that contain the training loss are shifted by the difference between both objectives.
    """
    values = _curve(dataset, metric)
    if metric not in OBJECTIVES or EXACT not in dataset:
        return values
    exact = _curve(dataset, EXACT)
    if metric != "objective":
        exact = values + (exact - _curve(dataset, "objective"))
    return values.where(_of_runs(~_has_exact(dataset)), exact)


def _curve(dataset: xr.Dataset, name: str) -> xr.DataArray:
    return dataset[name].reset_coords(drop=True)


def _of_runs(values: NDArray[Any]) -> xr.DataArray:
    return xr.DataArray(values, dims="run")


def _has_exact(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Return a mask of the runs that recorded their objective with exact expectations."""
    if EXACT not in dataset:
        return np.zeros(dataset.sizes["run"], dtype=bool)
    return by_run(dataset, [EXACT in spec["record"] for spec in specs_of(dataset)])


def reference(dataset: xr.Dataset, metric: str) -> Floats:
    """Return the reference value of each run, from which its gap is measured."""
    if metric not in {"objective", "neg_elbo"} or dataset.attrs["gap"] != "optimum":
        return _best_seen(dataset, metric)
    optimum = _optima(dataset, metric)
    if metric == "neg_elbo":
        gammas = by_run(dataset, [spec["gamma"] for spec in specs_of(dataset)])
        optimum = np.where(gammas == 1.0, optimum, np.nan)
    if np.isfinite(optimum).all():  # no curve needs to be read
        return optimum
    return np.where(np.isfinite(optimum), optimum, _best_seen(dataset, metric))


def has_optimum(dataset: xr.Dataset) -> NDArray[np.bool_]:
    """Return a mask of the runs whose objective gaps are measured from the optimum."""
    known = np.isfinite(_optima(dataset, "objective"))
    return np.asarray(known & (dataset.attrs["gap"] == "optimum"))


def _optima(dataset: xr.Dataset, metric: str) -> Floats:
    """Return the value of each run at the optimum of its problem, or NaN if it is not known."""
    optimum = np.asarray(dataset[f"optimum_{metric}"].values)
    if f"optimum_{EXACT}" in dataset:
        # The optimum of an approximation does not minimise the exact negative ELBO.
        exact = dataset[f"optimum_{EXACT}"].values if metric == "objective" else np.nan
        optimum = np.where(_has_exact(dataset), exact, optimum)
    return optimum


def rounding(dataset: xr.Dataset, best: Floats) -> Floats:
    """Return the absolute rounding tolerance of each run below its reference."""
    single = by_run(dataset, [spec["dtype"] == "float32" for spec in specs_of(dataset)])
    return np.asarray(np.where(single, SINGLE_ROUNDING, ROUNDING) * (1 + np.abs(best)))


def _best_seen(dataset: xr.Dataset, metric: str) -> Floats:
    """Return, for each run, the best value of all usable runs on the same problem."""
    values = measured(dataset, metric)
    values = values.where(np.isfinite(values) & _of_runs(usable(dataset)))
    best = (values.max if metric in HIGHER_IS_BETTER else values.min)("record")
    problem = xr.DataArray(problem_codes(dataset), dims="run", name="problem")
    by_problem = best.compute().groupby(problem)
    best = by_problem.max() if metric in HIGHER_IS_BETTER else by_problem.min()
    return np.asarray(best.sel(problem=problem).values)


def along_records(function: Callable[..., Any], *arrays: xr.DataArray, outputs: int = 1) -> Any:
    """Apply a function of arrays (run, record) that returns one or more arrays (run).

    Arrays without records are passed as (run, 1).
    """
    return xr.apply_ufunc(
        function,
        *(array if "record" in array.dims else array.expand_dims("record", -1) for array in arrays),
        input_core_dims=[["record"]] * len(arrays),
        output_core_dims=[[]] * outputs,
        exclude_dims={"record"},
        dask="parallelized",
        output_dtypes=[float] * outputs,
    )


def final(values: xr.DataArray) -> xr.DataArray:
    """Return the last value of each run that is not NaN, or NaN if there is none."""
    return along_records(_last_known, values)  # type: ignore[no-any-return]


def final_values(values: xr.DataArray) -> Floats:
    """Return the last value of each run as a NumPy array."""
    return np.asarray(final(values).values)


def _last_known(values: Floats) -> Floats:
    known = ~np.isnan(values)
    last = values.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    return np.asarray(values[np.arange(len(values)), last])


def computed(arrays: Mapping[str, xr.DataArray]) -> dict[str, NDArray[Any]]:
    """Compute several arrays along `run`. Curves that they share are read once."""
    together = xr.Dataset({name: array.reset_coords(drop=True) for name, array in arrays.items()})
    return {str(name): array.values for name, array in together.compute().items()}
