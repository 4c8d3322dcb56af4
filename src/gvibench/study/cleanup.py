"""Find files in a results folder that are bad or no longer needed."""

import time
from collections.abc import Callable
from pathlib import Path

from gvibench.errors import UserError
from gvibench.store.aggregates import AGGREGATE, check_aggregate, open_aggregate
from gvibench.store.manifest import ManifestRow, open_verified
from gvibench.store.measures import read_measures
from gvibench.store.optima import read_optimum
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import trace_from_group
from gvibench.study.plan import Plan

__all__ = ["bad_files", "find_bad_traces", "orphans"]

STALE_AFTER_SECONDS = 3600.0
"""Age after which a `.part` file is considered abandoned."""


def bad_files(plan: Plan) -> dict[str, str]:
    """Return the files that exist but cannot be used, with the reason."""
    bad: dict[str, str] = {}
    readers: dict[str, Callable[[str], object]] = {
        **dict.fromkeys(plan.data, read_prepared),
        **dict.fromkeys(plan.optima, read_optimum),
        **dict.fromkeys(plan.measures, read_measures),
    }
    for study in plan.config.studies:
        readers[f"{plan.config.results}/{study}/aggregate.zarr.zip"] = _read_aggregate
    for path, read in readers.items():
        if Path(path).exists():
            try:
                read(path)
            except UserError as error:
                bad[path] = str(error)
    for job in plan.runs.values():
        if Path(job.path).exists():
            bad |= find_bad_traces(job.manifest_rows())
    return bad


def find_bad_traces(rows: list[ManifestRow]) -> dict[str, str]:
    """Return the bad trace files of the given runs, with the reason."""
    bad: dict[str, str] = {}
    for row in rows:
        try:
            with open_verified(row) as (group, where):
                trace_from_group(group, where)
        except UserError as error:
            bad.setdefault(row["path"], str(error))
    return bad


def _read_aggregate(path: str) -> None:
    check_aggregate(path)
    with open_aggregate(path):
        pass


def orphans(plan: Plan) -> list[Path]:
    """Return the files of runs and tuning that the config no longer contains.

    Data and optima are not included, because studies of other configs may share them. Abandoned
    `.part` files and folders are included wherever they are.
    """
    root = Path(plan.config.results)
    named = {*plan.runs, *plan.betas, *plan.measures}
    for job in plan.tuning.values():
        named |= {job.choice, job.trials}
    folders = [
        root / study / stage
        for study in plan.config.studies
        for stage in ("runs", "tuning", "measures")
    ]
    files = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    parts = set(root.rglob(".*.part"))
    # A folder is only removed if an aggregation has made it.
    files |= {path for path in parts if path.is_file() or path.name.startswith(f".{AGGREGATE}.")}
    return sorted(path for path in files if path.as_posix() not in named and _is_left_over(path))


def _is_left_over(path: Path) -> bool:
    """Return whether a file is a result or abandoned, not the checkpoint of an unfinished run."""
    if path.name.endswith(".part"):
        # An aggregation writes into a folder, whose own time does not change.
        times = [inner.stat().st_mtime for inner in (path, *path.rglob("*/"))]
        return time.time() - max(times) > STALE_AFTER_SECONDS
    return not path.name.startswith(".")
