"""Maps a function over tasks: in this process, on this machine's cores, or on a Dask cluster."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from gvibench.errors import UserError

__all__ = ["RunTasks", "task_runner"]

RunTasks = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""Maps a function over tasks, in order."""

WORKER_SECONDS = 60
"""How long a running cluster may take to show a worker."""
QUEUE_SECONDS = 1800
"""How long a worker may wait in a queue."""


@contextmanager
def task_runner(*, small: bool, dask: Mapping[str, Any]) -> Iterator[RunTasks]:
    """Yield a function that maps over tasks.

    Parameters
    ----------
    small
        Whether there is too little to do for processes of its own on this machine.
    dask
        `scheduler_address`, or `slurm` with the workers to ask for; neither is this machine.
    """
    if not (dask.get("scheduler_address") or dask.get("slurm")) and (small or _cores() == 1):
        yield map
        return
    with ExitStack() as stack:
        client = _connect(dask, stack)
        yield lambda function, tasks: _map_on(client, function, tasks)


def _cores() -> int:
    """Return how many cores there are: in a job of Slurm, those it has been given."""
    return int(os.environ.get("SLURM_CPUS_PER_TASK") or os.cpu_count() or 1)


def _connect(dask: Mapping[str, Any], stack: ExitStack) -> Any:
    """Return a client; Dask is not annotated, hence Any."""
    import distributed

    connect: Any = distributed.Client
    if address := dask.get("scheduler_address"):
        try:
            client = stack.enter_context(connect(address))
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except (OSError, ValueError) as error:
            raise UserError(
                f"no Dask scheduler with a worker answers at {address}: start one, or leave out "
                "'dask' to aggregate on this machine"
            ) from error
    elif slurm := dask.get("slurm"):
        client = stack.enter_context(connect(stack.enter_context(_slurm_cluster(**slurm))))
        try:
            client.wait_for_workers(1, timeout=QUEUE_SECONDS)
        except OSError as error:
            raise UserError(
                f"Slurm started no Dask worker within {QUEUE_SECONDS // 60} minutes"
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
        # A few tasks ahead of the one that is awaited: finished blocks do not pile up.
        if len(pending) > 2 * max(1, len(client.nthreads())):
            yield pending.pop(0).result()
    for future in pending:
        yield future.result()
