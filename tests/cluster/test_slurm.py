"""Run studies on a real Slurm with two nodes, with and without failures."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest
import yaml

from conftest import on_slurm, wait_for
from gvibench.store.checkpoints import checkpoint_path
from gvibench.store.traces import read_traces
from gvibench.study.aggregate import aggregate
from gvibench.study.parallel import Dask
from workflow.project import ROOT, Project

pytestmark = pytest.mark.cluster

SMOKE = yaml.safe_load((ROOT / "config/smoke.yaml").read_text())["studies"]["smoke"]
SMOKE |= {"figures": ["gap"], "tables": ["performance"]}
AGGREGATE = ("--", "results/s/aggregate.zarr.zip")


def start(project: Project, log: Path, *words: str, **options: str) -> subprocess.Popen:
    with log.open("w") as out:
        return subprocess.Popen(
            on_slurm(project, *words, **options),
            cwd=project.folder,
            env=project.environment(),
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def finish(process: subprocess.Popen, log: Path) -> None:
    """Wait for Snakemake. Its polls become rarer while jobs run, up to one in three minutes."""
    try:
        wait_for(lambda: process.poll() is not None, 900)
        assert process.returncode == 0
    except AssertionError as error:
        queue = subprocess.run(["squeue", "-t", "all"], capture_output=True, text=True, check=True)
        raise AssertionError(f"{error}\n{log.read_text()}\n{queue.stdout}") from None
    finally:
        process.kill()


@pytest.fixture(scope="module")
def smoke(slurm, tmp_path_factory):
    """Run the smoke study on this machine and on the cluster."""
    folder = tmp_path_factory.mktemp("smoke")
    local = Project.create(folder / "local", SMOKE)
    project = local.copy(folder / "cluster")
    workers = {"workers": 2, "memory": "500MB", "walltime": "00:10:00"}
    project.configure(SMOKE, dask={"slurm": workers, "runs_per_task": 2})
    process = start(project, folder / "log", profile="slurm-gpu")
    local.snakemake(*AGGREGATE)
    finish(process, folder / "log")
    return local, project


def test_smoke_study_with_simulated_gpus(slurm, smoke):
    local, project = smoke
    assert project.numbers() == local.numbers()
    assert (project.folder / "results/s/summary.md").exists()

    # All four runs share a job and run one after the other. It requests one CPU and one GPU.
    [runs] = [job for job in slurm.jobs() if "run_solver" in job.get("Comment", "")]
    assert runs["NumCPUs"] == "1"
    assert runs["TresPerJob"] == "gres:gpu:1"
    for path in project.plan().runs:
        for trace in read_traces(project.folder / path):
            assert trace.attrs["slurm_job"] == runs["JobId"]
            assert trace.attrs["cuda_visible_devices"] == "0"
    others = [job for job in slurm.jobs() if "run_solver" not in job.get("Comment", "")]
    assert not any("TresPerJob" in job for job in others)
    assert not list(
        (project.folder / "results/logs/slurm").rglob("*.log")
    )  # logs of successful jobs are removed


def test_the_workflow_aggregates_with_dask_workers_on_slurm(slurm, smoke):
    """The aggregation is a Slurm job, which starts its workers as further jobs."""
    _, project = smoke
    names = [job["JobName"] for job in slurm.jobs()]
    assert names.count("dask-worker") == 2
    log = (project.folder / "results/s/logs/aggregate.log").read_text()
    assert "Dask dashboard: http://" in log
    assert "2 of 2 shards (100 %)" in log


def test_a_worker_is_killed_while_5000_runs_are_aggregated(slurm, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    from made_traces import write_study

    manifest = write_study(tmp_path / "study", 5000, 50)
    settings = {"runs_per_task": 250, "retries": 2, "dashboard": False}
    files = [tmp_path / f"{name}.zarr.zip" for name in ("local", "slurm")]
    aggregate(manifest, files[0], root=manifest.parent, dask=Dask(settings=settings))
    before = {job["JobId"] for job in slurm.jobs()}
    workers = {"workers": {"min": 2, "max": 2}, "cores": 1, "memory": "500MB"}
    settings["slurm"] = {**workers, "walltime": "00:10:00"}
    killed = []

    def kill_a_worker():
        # Some shards are written and others are not.
        wait_for(lambda: len(list(tmp_path.glob(".slurm*.part/objective/c/*/0"))) >= 4)
        running = [job for job in slurm.jobs() if job["JobId"] not in before]
        subprocess.run(["scancel", "--signal=KILL", "--full", running[0]["JobId"]], check=True)
        killed.append(running[0]["JobId"])

    thread = threading.Thread(target=kill_a_worker)
    thread.start()
    dask = Dask(settings=settings, logs=str(tmp_path / "logs"))
    aggregate(manifest, files[1], root=manifest.parent, dask=dask)
    thread.join()
    assert list((tmp_path / "logs").glob("dask-worker-*"))
    assert slurm.job(killed[0])["JobState"] != "COMPLETED"
    assert files[0].read_bytes() == files[1].read_bytes()
    assert not list(tmp_path.glob(".slurm*"))


# The runs take half a minute, longer than a start of Snakemake, so all of them can be interrupted.
LONG = {**SMOKE, "iterations": 400_000, "record_every": 10_000, "figures": [], "tables": []}


def test_study_with_failures(slurm, tmp_path):
    local = Project.create(tmp_path / "local", LONG)
    plan = local.plan()
    local.snakemake("--", *plan.data, *plan.optima)
    project = local.copy(tmp_path / "cluster")
    logs = [tmp_path / "first", tmp_path / "second"]

    ungrouped = ("--group-components", "runs=1")
    first = start(project, logs[0], *ungrouped, *AGGREGATE)
    running = wait_for(lambda: len(workers := slurm.workers(project.folder)) == 4 and workers)
    assert "4 running" in project.gvibench("status").stdout

    cancelled, killed = sorted(running)[:2]
    subprocess.run(["scancel", running[cancelled].job], check=True)
    os.kill(running[killed].pid, signal.SIGKILL)
    wait_for(lambda: slurm.job(running[cancelled].job)["JobState"] == "CANCELLED")
    wait_for(lambda: slurm.job(running[killed].job)["JobState"] == "FAILED")
    assert checkpoint_path(project.folder / cancelled).exists()  # written on SIGTERM
    wait_for(lambda: logs[0].read_text().count("Trying to restart job") == 2)

    first.kill()
    first.wait()
    subprocess.run(
        on_slurm(project, "--unlock"), cwd=project.folder, env=project.environment(), check=True
    )
    before = {job["JobId"] for job in slurm.jobs()}
    second = start(project, logs[1], *ungrouped, *AGGREGATE)
    new_workers = wait_for(
        lambda: [
            worker for worker in slurm.workers(project.folder).values() if worker.job not in before
        ]
    )
    slurm.kill_node(new_workers[0].node)
    wait_for(lambda: slurm.job(new_workers[0].job).get("Restarts") == "1")
    slurm.restart_node(new_workers[0].node)
    slurm.start_requeued()
    local.snakemake(*AGGREGATE)
    finish(second, logs[1])
    assert project.numbers() == local.numbers()
