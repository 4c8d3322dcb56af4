"""Connect to Dask workers: on the cores of this job, started by Slurm, or of a running scheduler.

Aggregation maps a function over shards. Tables and figures of large studies compute Dask arrays,
which use the same workers.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from gvibench.errors import UserError

__all__ = ["Dask", "RunTasks", "array_workers", "task_runner"]

RunTasks = Callable[[Callable[[Any], Any], Iterable[Any], int], Iterable[Any]]
"""Function that maps another function over a number of tasks and returns the results in order."""

WORKER_SECONDS = 60
"""Maximum waiting time for a worker of a running cluster."""
QUEUE_SECONDS = 1800
"""Maximum waiting time for a worker in the queue of Slurm."""
PROGRESS_SECONDS = 10.0
"""Time between two lines of progress."""
SHARD_BYTES = 256_000_000
"""Maximum size of the curves of a shard, unless the config sets `runs_per_task`."""
MIN_SHARD_RUNS, MAX_SHARD_RUNS = 50, 1000
MIN_TASKS = 8
"""Number of tasks from which on a job starts workers on its own."""


@dataclass(frozen=True)
class Dask:
    """Workers of a job."""

    threads: int = 1
    """Cores of the job, the default number of workers."""
    memory_mb: int = 0
    """Memory of the job, which its workers share; 0 if there is no limit."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Section `dask` of the config."""
    logs: str | None = None
    """Folder for the logs of workers that Slurm starts (default: Slurm's, the current folder)."""

    @property
    def elsewhere(self) -> bool:
        """Whether the workers are not processes of this job."""
        return bool(self.settings.get("scheduler_address") or self.settings.get("slurm"))

    @property
    def local_workers(self) -> int:
        """Number of workers on this machine."""
        local = self.settings.get("local") or {}
        return int(local.get("workers") or self.threads)

    def needs_processes(self, tasks: int) -> bool:
        """Return whether tasks run in other processes than that of the job.

        Starting them takes as long as a few tasks, so they must be many, or the config must ask
        for workers.
        """
        if tasks <= 1:
            return False
        if self.elsewhere:
            return True
        asked = (self.settings.get("local") or {}).get("workers")
        return self.local_workers > 1 and (tasks >= MIN_TASKS or asked is not None)

    @property
    def max_workers(self) -> int:
        """Maximum number of workers, as far as it is known."""
        if self.settings.get("scheduler_address"):
            return 1
        slurm = self.settings.get("slurm")
        if not slurm:
            return self.local_workers
        workers = slurm["workers"]
        return int(workers["max"] if isinstance(workers, Mapping) else workers)

    def shard_runs(self, records: int, curves: int) -> int:
        """Return the number of runs of a shard, which is one task."""
        if chosen := self.settings.get("runs_per_task"):
            return int(chosen)
        fitting = SHARD_BYTES // (8 * records * (curves + 1))
        return min(max(fitting, MIN_SHARD_RUNS), MAX_SHARD_RUNS)


@contextmanager
def task_runner(dask: Dask, tasks: int) -> Iterator[RunTasks]:
    """Yield a function that maps another function over tasks."""
    if not dask.needs_processes(tasks):
        yield lambda function, items, count: _with_progress(map(function, items), count)
        return
    with _connected(dask) as client:
        yield lambda function, items, count: _with_progress(
            _map_on(client, dask, function, items), count
        )


@contextmanager
def array_workers(dask: Dask) -> Iterator[None]:
    """Compute the Dask arrays of the body with the workers of a job."""
    import dask as dask_library

    if not dask.elsewhere and dask.local_workers == 1:
        # One thread in this process: a worker process would need further memory.
        with dask_library.config.set(scheduler="synchronous"):
            yield
        return
    with _connected(dask), _explained():
        yield


@contextmanager
def _connected(dask: Dask) -> Iterator[Any]:
    """Yield a Dask client. Dask has no type annotations, hence Any."""
    import dask as dask_library
    import distributed

    retries = int(dask.settings.get("retries", 2))
    connect: Any = distributed.Client
    with ExitStack() as stack:
        stack.enter_context(
            dask_library.config.set({"distributed.scheduler.allowed-failures": retries})
        )
        if address := dask.settings.get("scheduler_address"):
            client = _join(stack, connect, address)
        elif slurm := dask.settings.get("slurm"):
            cluster = stack.enter_context(_slurm_cluster(slurm, dask))
            client = stack.enter_context(connect(cluster))
            _wait_for_slurm(client)
        else:
            client = stack.enter_context(connect(stack.enter_context(_local_cluster(dask))))
        if _dashboard(dask):
            print(f"Dask dashboard: {client.dashboard_link}", flush=True)
        yield client


def _dashboard(dask: Dask) -> bool:
    return bool(dask.settings.get("dashboard", True))


def _local_cluster(dask: Dask) -> Any:
    import distributed
    from dask.utils import parse_bytes

    local = dask.settings.get("local") or {}
    workers = dask.local_workers
    memory = local.get("memory") or (f"{dask.memory_mb}MB" if dask.memory_mb else None)
    limit = parse_bytes(memory) // workers if memory else 0
    create: Any = distributed.LocalCluster
    return create(
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=limit,
        # Any free port: two jobs of one machine may have a dashboard.
        dashboard_address="127.0.0.1:0" if _dashboard(dask) else None,
    )


def _join(stack: ExitStack, connect: Any, address: str) -> Any:
    try:
        client = stack.enter_context(connect(address))
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no Dask scheduler with a worker answers at {address}: start one, or remove "
            "'dask' from the config to use the cores of the job"
        ) from error
    return client


def _wait_for_slurm(client: Any) -> None:
    try:
        client.wait_for_workers(1, timeout=QUEUE_SECONDS)
    except OSError as error:
        raise UserError(
            f"Slurm started no Dask worker within {QUEUE_SECONDS // 60} minutes: run snakemake "
            "again, or remove 'dask' from the config to use the cores of the job"
        ) from error


def _slurm_cluster(settings: Mapping[str, Any], dask: Dask) -> Any:
    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError as error:
        raise UserError("Dask on Slurm needs: pip install 'gvibench[slurm]'") from error
    workers = settings["workers"]
    options = {
        "queue": settings.get("partition"),
        "account": settings.get("account"),
        "interface": settings.get("interface"),
        "local_directory": settings.get("local_directory"),
        "log_directory": dask.logs,
    }
    cluster = SLURMCluster(
        cores=settings["cores"],
        processes=settings["cores"],  # reading traces is Python code, which uses one core
        memory=settings["memory"],
        walltime=settings["walltime"],
        scheduler_options={"dashboard": _dashboard(dask)},
        **{name: value for name, value in options.items() if value is not None},
    )
    if isinstance(workers, Mapping):
        cluster.adapt(minimum_jobs=workers["min"], maximum_jobs=workers["max"])
    else:
        cluster.scale(jobs=workers)
    return cluster


def _map_on(
    client: Any, dask: Dask, function: Callable[[Any], Any], tasks: Iterable[Any]
) -> Iterator[Any]:
    """Yield the results in order. A task whose worker was lost is retried on another one."""
    retries = int(dask.settings.get("retries", 2))
    pending: deque[Any] = deque()
    with _explained():
        for task in tasks:
            pending.append(client.submit(function, task, pure=False, retries=retries))
            # Submit only a few tasks in advance, so that they do not accumulate in memory.
            if len(pending) > 2 * max(dask.max_workers, len(client.nthreads())):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


@contextmanager
def _explained() -> Iterator[None]:
    """Replace the errors of a cluster with a sentence."""
    import distributed
    from distributed.comm.core import CommClosedError

    try:
        yield
    except distributed.scheduler.KilledWorker as error:
        raise UserError(
            "Dask workers were lost again and again, probably because they ran out of memory: "
            "set more 'memory' or fewer 'runs_per_task' in the section 'dask' of the config"
        ) from error
    except (distributed.client.FutureCancelledError, CommClosedError) as error:
        raise UserError(
            "the connection to the Dask scheduler was lost: run snakemake again"
        ) from error


def _with_progress(results: Iterable[Any], count: int) -> Iterator[Any]:
    """Yield results and print how many there are, at most every few seconds."""
    printed = time.monotonic()
    for done, result in enumerate(results, start=1):
        now = time.monotonic()
        if count > 1 and (done == count or now - printed >= PROGRESS_SECONDS):
            print(f"{done} of {count} shards ({math.floor(100 * done / count)} %)", flush=True)
            printed = now
        yield result
