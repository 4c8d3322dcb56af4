"""Merge the traces of a study into one dataset with dimensions `run` and `iteration`.

Each trace is verified: the checksums of its zip, its layout, and both hashes against the manifest.
Work is divided into tasks of a hundred traces. Chunks are written as tasks finish, so that memory
does not grow with the study.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gvibench.errors import UserError
from gvibench.store.aggregates import KIND, compress, put_columns, write_aggregate
from gvibench.store.files import atomic_path
from gvibench.store.manifest import OPTIONAL_PATHS, ManifestRow, open_verified, read_manifest
from gvibench.store.provenance import versions
from gvibench.store.traces import SCALARS, trace_from_group
from gvibench.store.zarrzip import Group
from gvibench.study.aggregate_columns import (
    Header,
    Optima,
    put_paths,
    reference_values,
    run_coordinates,
)
from gvibench.study.parallel import task_runner

__all__ = ["aggregate"]

RUNS_PER_TASK = 100
IN_PROCESS = 2 * RUNS_PER_TASK
"""Number of runs up to which worker processes cost more than they save."""
MAX_LISTED = 20
"""Maximum number of bad traces in a message."""


def aggregate(
    manifest_path: Path,
    out: Path,
    *,
    root: Path = Path(),
    dask: Mapping[str, Any] | None = None,
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
        Settings of a Dask cluster, see `gvibench.study.parallel`.
    """
    manifest = read_manifest(manifest_path)
    rows = [_resolve_paths(row, root.absolute()) for row in manifest["runs"]]
    blocks = [rows[k : k + RUNS_PER_TASK] for k in range(0, len(rows), RUNS_PER_TASK)]
    with task_runner(small=len(rows) <= IN_PROCESS, dask=dask or {}) as run_tasks:
        headers = _gather(run_tasks(_read_headers, blocks))
        axis = np.unique(np.concatenate([header.iteration for header in headers]))
        names = [name for name in SCALARS if any(name in header.names for header in headers)]
        group = _coordinates(manifest, rows, headers, axis)
        tasks = [(block, axis, names, RUNS_PER_TASK) for block in blocks]
        curves = _checked(run_tasks(_read_curves, tasks))
        with atomic_path(out) as part:
            write_aggregate(part, group, names, (len(rows), len(axis)), RUNS_PER_TASK, curves)


def _resolve_paths(row: ManifestRow, root: Path) -> ManifestRow:
    """Return a row with absolute paths, because tasks may run in another folder."""
    paths = {name: row[name] for name in ("path", *OPTIONAL_PATHS)}
    return {**row, **{name: path and str(root / path) for name, path in paths.items()}}


def _gather(results: Iterable[tuple[list[Header], list[str]]]) -> list[Header]:
    headers: list[Header] = []
    errors: list[str] = []
    for of_block, wrong in results:
        headers += of_block
        errors += wrong
    _raise_if_any(errors)
    return headers


def _checked(results: Iterable[tuple[list[bytes], list[str]]]) -> Iterator[list[bytes]]:
    errors: list[str] = []
    for chunks, wrong in results:
        errors += wrong
        yield chunks
    _raise_if_any(errors)


def _raise_if_any(errors: Sequence[str]) -> None:
    if errors:
        more = len(errors) - MAX_LISTED
        listed = "; ".join(errors[:MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")
        count = "1 trace is bad" if len(errors) == 1 else f"{len(errors)} traces are bad"
        raise UserError(
            f"{count}: {listed}. 'gvibench repair' removes them, then run snakemake again"
        )


def _coordinates(
    manifest: Mapping[str, Any], rows: list[ManifestRow], headers: list[Header], axis: np.ndarray
) -> Group:
    """Return everything of the aggregate except the curves."""
    root = Group(
        {
            "kind": KIND,
            **{name: manifest[name] for name in ("study", "title", "gap")},
            "solver_titles": manifest.get("solver_titles", {}),
            "dataset_titles": manifest.get("dataset_titles", {}),
            "versions": versions(),
        }
    )
    root.put("iteration", axis, ["iteration"], long_name="iteration", units="1")
    optima = Optima()
    notes = [optima.note(row) for row in rows]
    put_columns(root, {**run_coordinates(rows, headers), "optimum_note": notes})
    for name, optimal in reference_values(rows, optima).items():
        root.put(f"optimum_{name}", optimal, ["run"], long_name=f"{name} at the optimum")
    smoothness = optima.values(rows, "smoothness")
    root.put("smoothness", smoothness, ["run"], long_name="largest curvature of the loss")
    put_paths(root, rows, headers, optima)
    return root


# Tasks are plain functions of plain data, so that they run in any process or on a cluster.


def _read_headers(rows: list[ManifestRow]) -> tuple[list[Header], list[str]]:
    """Return the headers of traces, and one sentence per bad trace."""
    headers: list[Header] = []
    errors: list[str] = []
    for row in rows:
        try:
            with open_verified(row) as (group, _):
                headers.append(Header(group.read("iteration"), tuple(group.names()), group.attrs))
        except UserError as error:
            errors.append(str(error))
    return headers, errors


def _read_curves(
    task: tuple[list[ManifestRow], np.ndarray, list[str], int],
) -> tuple[list[bytes], list[str]]:
    """Return one compressed chunk per curve, and one sentence per bad trace."""
    rows, axis, names, chunk_rows = task
    block = np.full((len(names), chunk_rows, len(axis)), np.nan)
    errors: list[str] = []
    for k, row in enumerate(rows):
        try:
            with open_verified(row) as (group, where):
                trace = trace_from_group(group, where)
        except UserError as error:
            errors.append(str(error))
            continue
        at = np.searchsorted(axis, trace.iteration)
        for j, name in enumerate(names):
            if name in trace.scalars:
                block[j, k, at] = trace.scalars[name]
    return [compress(values) for values in block], errors
