"""Map a function over tasks: in this process, on the cores of this machine, or on a cluster."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from gvibench.errors import UserError

__all__ = ["RunTasks", "task_runner"]

RunTasks = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Function that maps another function over tasks and returns the results in order."""

WORKER_SECONDS = 60
"""Maximum waiting time for a worker of a running cluster."""
QUEUE_SECONDS = 1800
"""Maximum waiting time for a worker in the queue of Slurm."""


@contextmanager
def task_runner(*, small: bool, dask: Mapping[str, Any]) -> Iterator[RunTasks]:
    """Yield a function that maps another function over tasks.

    Parameters
    ----------
    small
        Whether the tasks are too small for additional processes on this machine.
    dask
        Mapping with `scheduler_address`, or with `slurm` and its settings for workers. With
        neither, the tasks run on this machine.
    """
    if not (dask.get("scheduler_address") or dask.get("slurm")) and (small or _cores() == 1):
        yield map
        return
    with ExitStack() as stack:
        client = _connect(dask, stack)
        yield lambda function, tasks: _map_on(client, function, tasks)


def _cores() -> int:
    """Return the number of cores of this machine or, in a Slurm job, of the job."""
    return int(os.environ.get("SLURM_CPUS_PER_TASK") or os.cpu_count() or 1)


def _connect(dask: Mapping[str, Any], stack: ExitStack) -> Any:
    """Return a Dask client. Dask has no type annotations, hence Any."""
    import distributed

    connect: Any = distributed.Client
    if address := dask.get("scheduler_address"):
        try:
            client = stack.enter_context(connect(address))
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except (OSError, ValueError) as error:
            raise UserError(
                f"no Dask scheduler with a worker answers at {address}: start one, or remove "
                "'dask' from the config to aggregate on this machine"
            ) from error
    elif slurm := dask.get("slurm"):
        client = stack.enter_context(connect(stack.enter_context(_slurm_cluster(**slurm))))
        try:
            client.wait_for_workers(1, timeout=QUEUE_SECONDS)
        except OSError as error:
            raise UserError(
                f"Slurm started no Dask worker within {QUEUE_SECONDS // 60} minutes: run snakemake "
                "again, or remove 'dask' from the config to aggregate on this machine"
            ) from error
    else:
        local = {"n_workers": _cores(), "threads_per_worker": 1, "dashboard_address": None}
        client = stack.enter_context(connect(**local))
    return client


def _slurm_cluster(workers: int, memory: str, walltime: str, **where: str | None) -> Any:
    try:
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError as error:
        raise UserError("Dask on Slurm needs: pip install 'gvibench[slurm]'") from error
    return SLURMCluster(
        queue=where.get("partition"),
        account=where.get("account"),
        n_workers=workers,
        cores=1,
        processes=1,
        memory=memory,
        walltime=walltime,
        scheduler_options={"dashboard": False},
    )


def _map_on(client: Any, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
    pending: list[Any] = []
    for task in tasks:
        pending.append(client.submit(function, task, pure=False))
        # Submit only a few tasks in advance, so that results do not accumulate in memory.
        if len(pending) > 2 * max(1, len(client.nthreads())):
            yield pending.pop(0).result()
    for future in pending:
        yield future.result()
