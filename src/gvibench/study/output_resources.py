"""Estimate the cores and the memory of the jobs behind the runs from the size of a study."""

import math
from dataclasses import dataclass
from typing import Any

from gvibench.spec.limits import IN_MEMORY_BYTES
from gvibench.spec.metrics import METRICS
from gvibench.study.dask_settings import megabytes
from gvibench.study.parallel import Dask
from gvibench.study.plan import Plan

__all__ = ["OutputResources"]

LIBRARIES_MB = 250
"""Memory of a process with xarray and Matplotlib."""
WORKER_MB = 200
"""Memory of a Dask worker without data."""
RUN_KB = 6
"""Memory of the labels and settings of a run."""
CURVES = len(METRICS) + 2
"""Number of curves of a usual trace, with the iterations and the seconds."""
COPIES = 3
"""Number of copies of a shard while its curves are read, compressed or analysed."""
DEFAULT_WORKERS = 2


@dataclass(frozen=True)
class OutputResources:
    """Resources of the aggregation, tables, figures and reports of a study."""

    threads: int
    """Cores of the aggregation."""
    memory_mb: int
    """Memory of the aggregation."""
    analysis_threads: int
    """Cores of a table, figure or report."""
    analysis_memory_mb: int
    """Memory of a table, figure or report."""

    @classmethod
    def of(cls, plan: Plan, study: str) -> "OutputResources":
        """Return the resources for a study."""
        jobs = plan.of_study(study)
        runs = sum(len(job.specs) for job in jobs)
        records = max(job.specs[0].max_records for job in jobs)
        settings: dict[str, Any] = plan.config.dask.model_dump() if plan.config.dask else {}
        dask = Dask(DEFAULT_WORKERS, settings=settings)
        shard_runs = min(dask.shard_runs(records, CURVES), runs)
        shard_mb = 8e-6 * shard_runs * records * CURVES
        all_mb = 8e-6 * runs * records * CURVES
        is_large = 1e6 * all_mb > IN_MEMORY_BYTES
        shards = math.ceil(runs / shard_runs)
        starts_workers = dask.needs_processes(shards) and not dask.elsewhere
        local = dask.local_workers if starts_workers else 1
        chosen = settings.get("local") or {}
        # By default an analysis needs no other process.
        workers = local if chosen and is_large else 1
        labels_mb = LIBRARIES_MB + 1e-3 * RUN_KB * runs

        def needed(processes: int, task_mb: float) -> int:
            if processes == 1:
                return _rounded(labels_mb + task_mb)
            if chosen.get("memory"):
                return _rounded(labels_mb + megabytes(chosen["memory"]))
            return _rounded(labels_mb + processes * (WORKER_MB + task_mb))

        return cls(
            threads=local,
            memory_mb=needed(local, COPIES * shard_mb),
            analysis_threads=workers,
            analysis_memory_mb=needed(workers, COPIES * (shard_mb if is_large else all_mb)),
        )


def _rounded(needed_mb: float) -> int:
    """Return memory in steps of 250 MB, at least 1 GB."""
    return max(1000, 250 * math.ceil(needed_mb / 250))
