"""Merge the traces of a study into one dataset with dimensions `run` and `record`.

Each trace is read once and verified: the checksums of its zip, its layout, and both hashes against
the manifest. The work is divided into shards of runs. Workers write the curves of their shards and
return what is left, a few hundred bytes per run.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from gvibench.errors import UserError
from gvibench.store.aggregate_writer import Layout, folder_beside, pack, put, ragged
from gvibench.store.aggregates import KIND
from gvibench.store.manifest import OPTIONAL_PATHS, ManifestRow, open_verified, read_manifest
from gvibench.store.provenance import versions
from gvibench.store.traces import Trace, trace_from_group
from gvibench.study.aggregate_columns import (
    RunColumns,
    StudyFiles,
    reference_values,
    run_coordinates,
)
from gvibench.study.aggregate_measures import read_all_measures
from gvibench.study.aggregate_paths import put_paths
from gvibench.study.parallel import Dask, task_runner

__all__ = ["aggregate"]

MAX_LISTED = 20
"""Maximum number of bad traces in a message."""


def aggregate(
    manifest_path: Path, out: Path, *, root: Path = Path(), dask: Dask | None = None
) -> None:
    """Read all traces of a study and write one dataset. Raise UserError with all bad traces.

    Parameters
    ----------
    manifest_path
        Manifest of the study.
    out
        File to write.
    root
        Folder that the paths in the manifest are relative to.
    dask
        Workers to use, by default none but this process.
    """
    dask = dask or Dask()
    manifest = read_manifest(manifest_path)
    rows, root = manifest["runs"], root.absolute()
    curves = tuple(manifest["curves"])
    shard_runs = dask.shard_runs(manifest["records"], len(curves))
    layout = Layout(len(rows), manifest["records"], curves, shard_runs)
    shards = list(layout.shards())
    with folder_beside(out) as folder, task_runner(dask, len(shards)) as run_tasks:
        if len(shards) > 1:
            layout.create(folder)
        tasks = (
            _Shard(layout, folder, runs, [_resolved(row, root) for row in rows[runs]])
            for runs in shards
        )
        results = _checked(run_tasks(_write_shard, tasks, len(shards)))
        columns = RunColumns.concatenated([result.columns for result in results])
        files = StudyFiles(root)
        put_paths(folder, rows, columns, files)
        # Last, because writing a dataset replaces the attributes.
        coordinates = _coordinates(manifest, columns, files)
        measures = read_all_measures(manifest, root, coordinates["configuration_index"].values)
        put(folder, coordinates.assign(measures).assign_attrs(coordinates.attrs))
        pack(folder, out, max(result.records for result in results))


def _resolved(row: ManifestRow, root: Path) -> ManifestRow:
    """Return a row with absolute paths, because tasks may run in another folder."""
    paths = {name: row[name] for name in ("path", *OPTIONAL_PATHS)}
    return {**row, **{name: path and str(root / path) for name, path in paths.items()}}


def _coordinates(manifest: Mapping[str, Any], columns: RunColumns, files: StudyFiles) -> xr.Dataset:
    """Return everything of the aggregate except the curves and the paths."""
    rows = manifest["runs"]
    values: dict[str, Any] = {
        f"optimum_{name}": ("run", optimal, {"long_name": f"{name} at the optimum"})
        for name, optimal in reference_values(rows, files).items()
    }
    smoothness = files.optimal_values(rows, "smoothness")
    values["smoothness"] = ("run", smoothness, {"long_name": "largest curvature of the loss"})
    attrs = {
        "kind": KIND,
        **{name: manifest[name] for name in ("study", "title", "gap")},
        "solver_titles": manifest.get("solver_titles", {}),
        "cost": manifest.get("cost", "evaluations"),
        "score": manifest.get("score", {}),
        "starts": manifest.get("starts", []),
        "other_limits": manifest.get("other_limits", {}),
        "dataset_titles": manifest.get("dataset_titles", {}),
        "versions": versions(),
    }
    return xr.Dataset(values, run_coordinates(rows, columns, files), attrs)


class _Shard(NamedTuple):
    """Task: plain data, so that it can be sent to any process or to a cluster."""

    layout: Layout
    folder: Path
    runs: slice
    rows: list[ManifestRow]


class _Result(NamedTuple):
    columns: RunColumns
    records: int
    """Largest number of records of a run."""
    errors: list[str]
    """One sentence per bad trace."""


def _write_shard(task: _Shard) -> _Result:
    """Read the traces of a shard, write their curves and return the rest."""
    traces: list[Trace] = []
    errors: list[str] = []
    for row in task.rows:
        try:
            with open_verified(row) as (group, where):
                trace = trace_from_group(group, where)
        except UserError as error:
            errors.append(str(error))
            continue
        if len(trace.iteration) > task.layout.records:
            errors.append(f"{where} has more records than its schedule")
        traces.append(trace)
    if errors:
        return _Result(RunColumns({}, [], np.empty(0, int)), 0, errors)
    curves = ragged(
        [trace.iteration for trace in traces],
        [trace.scalars for trace in traces],
        task.layout.curves,
    )
    alone = len(task.rows) == task.layout.runs
    task.layout.write_shard(task.folder, task.runs, curves, alone=alone)
    return _Result(RunColumns.of(traces), curves["iteration"].shape[1], [])


def _checked(results: Iterable[_Result]) -> list[_Result]:
    """Return the results of all tasks, or raise UserError with all bad traces."""
    gathered = list(results)
    # All runs of a damaged file have the same error.
    errors = list(dict.fromkeys(error for result in gathered for error in result.errors))
    if errors:
        more = len(errors) - MAX_LISTED
        listed = "; ".join(errors[:MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")
        count = "1 trace is bad" if len(errors) == 1 else f"{len(errors)} traces are bad"
        raise UserError(
            f"{count}: {listed}. 'gvibench repair' removes them, then run snakemake again"
        )
    return gathered
