import os
import time

import dask
import pytest

from gvibench.errors import UserError
from gvibench.study import parallel
from gvibench.study.parallel import task_runner


@pytest.mark.slow
def test_tasks_are_shared_by_the_workers_and_stay_in_order(dask_scheduler):
    def work(task):
        time.sleep(0.2)
        return task, os.getpid()

    with task_runner(small=True, dask={"scheduler_address": dask_scheduler}) as run_tasks:
        done = list(run_tasks(work, range(12)))
    assert [task for task, _ in done] == list(range(12))
    assert len({process for _, process in done}) == 2


def test_an_unreachable_scheduler_is_an_error(monkeypatch):
    # Dask must have its settings before one of them is changed, or restoring it would remove all.
    import distributed  # noqa: F401

    monkeypatch.setattr(parallel, "WORKER_SECONDS", 1)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(UserError, match="no Dask scheduler with a worker answers at tcp://127"),
        task_runner(small=True, dask={"scheduler_address": "tcp://127.0.0.1:1"}),
    ):
        pass
