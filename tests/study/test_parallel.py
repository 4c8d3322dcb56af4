import os
import signal
import time

import dask.array
import pytest

from gvibench.errors import UserError
from gvibench.study import parallel
from gvibench.study.parallel import Dask, array_workers, task_runner


@pytest.mark.slow
def test_tasks_are_shared_by_the_workers_and_stay_in_order(dask_scheduler):
    def work(task):
        time.sleep(0.2)
        return task, os.getpid()

    with task_runner(Dask(settings={"scheduler_address": dask_scheduler}), 12) as run_tasks:
        done = list(run_tasks(work, range(12), 12))
    assert [task for task, _ in done] == list(range(12))
    assert len({process for _, process in done}) == 2


def test_an_unreachable_scheduler_is_an_error(monkeypatch):
    # Dask must have its settings before one of them is changed, or restoring it would remove all.
    import distributed  # noqa: F401

    monkeypatch.setattr(parallel, "WORKER_SECONDS", 1)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(UserError, match="no Dask scheduler with a worker answers at tcp://127"),
        task_runner(Dask(settings={"scheduler_address": "tcp://127.0.0.1:1"}), 2),
    ):
        pass


LOCAL = {"local": {"workers": 2, "memory": "2GB"}, "dashboard": True}


def kill_worker(task):
    """Kill the worker the first time that the last task runs."""
    number, folder = task
    if number == 5 and not (folder / "killed").exists():
        (folder / "killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.slow
def test_a_lost_worker_is_replaced_and_its_task_runs_again(tmp_path, capsys):
    tasks = [(number, tmp_path) for number in range(6)]
    with task_runner(Dask(settings=LOCAL), 6) as run_tasks:
        assert list(run_tasks(kill_worker, tasks, 6)) == list(range(6))
    printed = capsys.readouterr().out
    assert "Dask dashboard: http://" in printed
    assert "6 of 6 shards (100 %)" in printed


def always_killed(task):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_workers_that_are_lost_again_and_again_are_an_error():
    settings = {**LOCAL, "retries": 0, "dashboard": False}
    with (
        pytest.raises(UserError, match="probably because they ran out of memory"),
        task_runner(Dask(settings=settings), 2) as run_tasks,
    ):
        list(run_tasks(always_killed, range(2), 2))


def test_few_tasks_or_one_worker_need_no_cluster():
    for workers, count in ((Dask(threads=1), 9), (Dask(settings=LOCAL), 1), (Dask(2), 7)):
        with task_runner(workers, count) as run_tasks:
            assert set(run_tasks(lambda _: os.getpid(), range(count), count)) == {os.getpid()}


@pytest.mark.slow
def test_arrays_are_computed_by_the_workers():
    ids = dask.array.ones(8, chunks=1).map_blocks(lambda block: block * os.getpid(), dtype=float)
    with array_workers(Dask(threads=1)):
        assert set(ids.compute()) == {os.getpid()}
    with array_workers(Dask(settings={**LOCAL, "dashboard": False})):
        assert os.getpid() not in set(ids.compute())


@pytest.mark.parametrize(
    ("records", "expected"), [(200, 1000), (1000, 1000), (10_000, 320), (10**9, 50)]
)
def test_shards_of_long_runs_have_fewer_runs(records, expected):
    assert Dask().shard_runs(records, 9) == expected
    assert Dask(settings={"runs_per_task": 7}).shard_runs(records, 9) == 7
