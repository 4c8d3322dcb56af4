import os
import re
from pathlib import Path

import pytest

from gvibench import status
from gvibench.checkpoints import checkpoint_path
from gvibench.expansion import expand
from gvibench.loop import execute
from gvibench.status import progress_of, report
from gvibench.study import load_config
from gvibench.traces import write_trace
from gvibench.upkeep import orphans
from test_run import prepared


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = {"datasets": ["synthetic"], "solvers": ["vn", "gd"], "step": 0.1, "seeds": 3}
    return expand(load_config({"studies": {"s": {**study, "iterations": 40}}}))


def run(job, **options):
    spec = job.specs[0]
    data = prepared(data=spec.data)
    return execute(spec, data, **options)


def test_each_state_is_told_from_files(plan):
    jobs = plan.of_study("s")
    assert {progress.state for progress in progress_of(plan, "s")} == {"pending"}
    assert "6 run jobs: 6 pending; about" in report(plan)

    write_trace(jobs[0].path, run(jobs[0]))
    broken = run(
        jobs[3].__class__(
            **{**vars(jobs[3]), "specs": (jobs[3].specs[0].model_copy(update={"step": 100.0}),)}
        )
    )
    write_trace(jobs[3].path, broken)
    Path(jobs[1].path).parent.mkdir(parents=True, exist_ok=True)
    run(jobs[1], checkpoint=checkpoint_path(Path(jobs[1].path)), checkpoint_every=0.0)
    log = Path("results/s/logs/runs/synthetic/vn/step-0.1_scale-1.0/seed-2.log")
    log.parent.mkdir(parents=True)
    log.write_text("gvibench.worker: no such luck\n")

    found = {progress.job.path: progress for progress in progress_of(plan, "s")}
    states = [found[job.path].state for job in jobs]
    assert states == ["done", "running", "failed", "diverged", "pending", "pending"]
    assert found[jobs[1].path].share == 1.0  # of its last checkpoint
    text = report(plan)
    assert "1 done, 1 diverged, 1 running, 1 failed, 2 pending" in text
    assert "no such luck" in text
    assert "running 100%" in text


def test_a_checkpoint_that_nobody_renews_is_of_a_run_that_waits(plan):
    job = plan.of_study("s")[0]
    kept = checkpoint_path(Path(job.path))
    kept.parent.mkdir(parents=True)
    run(job, checkpoint=kept, checkpoint_every=0.0)
    assert "1 running, 5 pending" in report(plan)
    os.utime(kept, (0, 0))
    assert "6 pending" in report(plan)


def test_time_left_follows_the_pace_of_what_is_done(plan):
    jobs = plan.of_study("s")
    trace = run(jobs[0])
    times = []
    for seconds in (1e4, 1e7):
        trace.attrs["wall_seconds"] = seconds
        write_trace(jobs[0].path, trace)
        times.append(re.search(r"about (\S+) h left on one core", report(plan))[1])
    assert float(times[1]) == pytest.approx(1e3 * float(times[0]), rel=0.1)


def test_runs_that_wait_for_tuning_say_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = {"datasets": ["synthetic"], "solvers": ["vn", "gd"], "step": "tuned", "seeds": 3}
    plan = expand(load_config({"studies": {"s": study}}))
    assert "tuning: 0 of 2 done" in report(plan)
    choice = Path(plan.of_study("s")[0].tuning.choice)
    choice.parent.mkdir(parents=True)
    choice.touch()
    assert "tuning: 1 of 2 done" in report(plan)


def test_thousands_of_lines_are_not_printed(plan, monkeypatch):
    monkeypatch.setattr(status, "LISTED", 2)
    for job in plan.of_study("s"):
        Path(job.path).parent.mkdir(parents=True, exist_ok=True)
        Path(job.path).write_bytes(b"broken")
    lines = report(plan).splitlines()
    assert lines[0].startswith("s: 6 run jobs: 6 failed")
    assert lines[-1] == "  failed: 4 more"
    assert len(lines) == 4


def test_orphans_are_results_nobody_names_and_old_remains_of_kills(plan):

    folder = Path("results/s/runs/synthetic/vn/step-0.1_scale-1.0")
    folder.mkdir(parents=True)
    for name in ("seed-0.zarr.zip", "seed-9.zarr.zip", ".seed-0.zarr.zip.checkpoint"):
        (folder / name).touch()
    for name, age in (("new", 0), ("old", 7200)):
        part = folder / f".seed-0.zarr.zip.{name}.part"
        part.touch()
        os.utime(part, (part.stat().st_atime - age, part.stat().st_mtime - age))
    assert [path.name for path in orphans(plan)] == [
        ".seed-0.zarr.zip.old.part",
        "seed-9.zarr.zip",
    ]
