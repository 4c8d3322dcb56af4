"""Add the stored means and covariances of runs to an aggregate, for studies that record them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from gvibench.store.aggregate_writer import put
from gvibench.store.manifest import ManifestRow, open_verified
from gvibench.study.aggregate_columns import FACTOR_PATH, SNAPSHOTS, RunColumns, StudyFiles

__all__ = ["put_paths"]

DIMENSIONS = {
    "snapshot_iteration": ("run", "snapshot"),
    "path_mean": ("run", "snapshot", "feature"),
    "path_covariance_factor": ("run", "snapshot", "feature", "feature_"),
    "optimum_mean": ("run", "feature"),
    "optimum_covariance_factor": ("run", "feature", "feature_"),
}
LONG_NAMES = {
    "snapshot_iteration": "iteration of a stored iterate",
    "path_mean": "mean of q",
    "path_covariance_factor": "factor of q",
    "optimum_mean": "optimal mean",
    "optimum_covariance_factor": "optimal factor",
}


def put_paths(
    folder: Path, rows: Sequence[ManifestRow], columns: RunColumns, files: StudyFiles
) -> None:
    """Add the stored means and factors of all runs, and the means and factors of their optima.

    Arrays have the size of the largest problem. Missing values are NaN. One run is written at a
    time, because a covariance may be large.
    """
    snapshots = columns.values[SNAPSHOTS]
    if not snapshots.any():
        return
    stored = snapshots > 0
    sizes = {
        "run": len(rows),
        "snapshot": int(snapshots.max()),
        "feature": int(columns.values["d"][stored].max()),
    }
    sizes["feature_"] = sizes["feature"]
    shapes = {name: tuple(sizes[dim] for dim in dims) for name, dims in DIMENSIONS.items()}
    for name, shape in shapes.items():
        _create(folder, name, shape)
    for run in np.flatnonzero(stored).tolist():
        for name, values in _paths_of(rows[run], files):
            padded = np.full((1, *shapes[name][1:]), np.nan)
            padded[0][tuple(slice(length) for length in values.shape)] = values
            region = {"run": slice(run, run + 1), **{d: slice(None) for d in DIMENSIONS[name][1:]}}
            part = xr.Dataset({name: (DIMENSIONS[name], padded)})
            part.to_zarr(folder, region=region, consolidated=False)


def _create(folder: Path, name: str, shape: tuple[int, ...]) -> None:
    """Add an array of missing values, with one chunk per run."""
    import dask.array

    chunks = (1, *shape[1:])
    values = dask.array.full(shape, np.nan, chunks=chunks)  # type: ignore[no-untyped-call]
    variable = xr.Dataset({name: (DIMENSIONS[name], values, {"long_name": LONG_NAMES[name]})})
    put(folder, variable, {name: chunks}, compute=False)


def _paths_of(row: ManifestRow, files: StudyFiles) -> Iterator[tuple[str, np.ndarray]]:
    resolved = {**row, "path": str(files.root / row["path"])}
    with open_verified(resolved) as (group, _):
        yield "snapshot_iteration", group.read("snapshot")
        yield "path_mean", group.read("mean")
        yield "path_covariance_factor", group.read(FACTOR_PATH)
    optimum = files.optimum(row)
    if optimum is not None and optimum.covariance_factor is not None:
        yield "optimum_mean", optimum.mean
        yield "optimum_covariance_factor", optimum.covariance_factor
