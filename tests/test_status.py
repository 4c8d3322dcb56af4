import os
import re
from pathlib import Path

import pytest
import yaml

from gvibench.cli.main import main
from gvibench.engine.checkpointing import checkpoint_path
from gvibench.engine.execute import execute
from gvibench.store.traces import write_trace
from gvibench.study import status
from gvibench.study.cleanup import estimate_cost, orphans
from gvibench.study.config import load_config
from gvibench.study.expand import expand
from gvibench.study.inventory import every_job, jobs_of
from gvibench.study.status import progress_of, report
from test_run import prepared
from workflow.project import Project

STUDY = {"datasets": ["synthetic"], "solvers": ["vn", "gd"], "step": 0.1, "seeds": 3}
CONFIG = {"studies": {"s": {**STUDY, "iterations": 40}}}


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return expand(load_config(CONFIG))


def run(job, **options):
    spec = job.specs[0]
    data = prepared(data=spec.data)
    return execute(spec, data, **options)


def test_each_state_is_told_from_files(plan):
    jobs = plan.of_study("s")
    assert {progress.state for progress in progress_of(plan, "s")} == {"pending"}
    assert "s: 6 runs: 6 pending; 19 jobs: 19 pending; about" in report(plan)

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
    log.write_text("gvibench.stages: no such luck\n")

    found = {progress.job.path: progress for progress in progress_of(plan, "s")}
    states = [found[job.path].state for job in jobs]
    assert states == ["done", "running", "error", "done", "pending", "pending"]
    assert found[jobs[1].path].share == 1.0  # of its last checkpoint
    text = report(plan)
    assert "6 runs: 1 done, 1 diverged, 1 running, 3 pending" in text
    assert "19 jobs: 2 done, 1 running, 1 in error, 15 pending" in text
    assert f"  error in job {jobs[2].path}: gvibench.stages: no such luck" in text
    assert f"  run diverged: {jobs[3].path}: at iteration" in text
    assert "running 100%" in text


def test_a_checkpoint_that_nobody_renews_is_of_a_run_that_waits(plan):
    job = plan.of_study("s")[0]
    kept = checkpoint_path(Path(job.path))
    kept.parent.mkdir(parents=True)
    run(job, checkpoint=kept, checkpoint_every=0.0)
    assert "6 runs: 1 running, 5 pending" in report(plan)
    os.utime(kept, (0, 0))
    assert "6 runs: 6 pending" in report(plan)


def test_an_interrupted_job_is_pending_and_not_in_error(plan):
    job = plan.of_study("s")[0]
    kept = checkpoint_path(Path(job.path))
    kept.parent.mkdir(parents=True)
    run(job, checkpoint=kept, checkpoint_every=0.0)
    log = Path("results/s/logs/runs/synthetic/vn/step-0.1_scale-1.0/seed-0.log")
    log.parent.mkdir(parents=True)
    log.write_text(f"gvibench.stages: interrupted at iteration 9; it resumes from {kept}\n")
    assert "6 runs: 6 pending; 19 jobs: 19 pending" in report(plan)


def test_commands_follow_another_results_folder(plan, capsys):
    config = Path("c.yaml")
    config.write_text(yaml.safe_dump(CONFIG))
    job = plan.of_study("s")[0]
    elsewhere = Path("elsewhere") / Path(job.path).relative_to("results")
    write_trace(elsewhere, run(job))
    for words, there, here in (
        (["status", "c.yaml"], "6 runs: 1 done, 5 pending", "6 runs: 6 pending"),
        (["watch", "--once", "c.yaml"], "6 runs: 1 done, 5 pending", "6 runs: 6 pending"),
        (["plan", "c.yaml"], "still to do: 18 jobs", "still to do: 19 jobs"),
    ):
        assert main([*words, "--results", "elsewhere"]) == 0
        assert there in capsys.readouterr().out
        assert main(words) == 0
        assert here in capsys.readouterr().out
    elsewhere.write_bytes(b"broken")
    assert main(["repair", "c.yaml"]) == 0
    assert elsewhere.exists()
    assert main(["repair", "c.yaml", "--results", "elsewhere"]) == 0
    assert not elsewhere.exists()
    orphan = elsewhere.with_name("seed-9.zarr.zip")
    orphan.touch()
    assert main(["clean", "--orphans", "c.yaml", "--results", "elsewhere"]) == 0
    assert not orphan.exists()


def test_time_left_follows_the_pace_of_what_is_done(plan):
    jobs = plan.of_study("s")
    trace = run(jobs[0])
    times = []
    for seconds in (1e4, 1e7):
        trace.attrs["wall_seconds"] = seconds
        write_trace(jobs[0].path, trace)
        times.append(re.search(r"about (\S+) h left on one core", report(plan))[1])
    assert float(times[1]) == pytest.approx(1e3 * float(times[0]), rel=0.1)


EVERYTHING = {
    "datasets": ["synthetic"],
    "solvers": ["vn", "gd"],
    "step": "tuned",
    "beta": "tuned",
    "expectation": "piecewise",
    "record": ["objective_exact"],
    "seeds": 2,
    "figures": ["gap"],
    "tables": ["performance"],
}
"""A study with jobs of every stage."""


@pytest.fixture
def whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return expand(load_config({"studies": {"s": EVERYTHING}}))


def test_an_error_of_any_stage_is_named_with_the_last_line_of_its_log(whole):
    for job in jobs_of(whole, "s"):
        log = Path(job.log)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"at first all was well\ngvibench.stages: {job.stage} did not work\n")
        text = report(whole)
        assert "1 in error" in text.splitlines()[0]
        assert f"  error in job {job.path}: gvibench.stages: {job.stage} did not work" in text
        log.unlink()
    stages = {job.stage for job in jobs_of(whole, "s")}
    assert {"data", "beta", "optimum", "round", "choice", "run", "aggregate"} <= stages
    assert {"table", "figure", "summary", "page"} <= stages


def test_runs_that_failed_are_not_confused_with_jobs_that_did(plan):
    job = plan.of_study("s")[0]
    trace = run(job)
    trace.attrs.update(status="failed", reason="the objective rose")
    write_trace(job.path, trace)
    text = report(plan)
    assert "6 runs: 1 failed, 5 pending; 19 jobs: 1 done, 18 pending" in text
    assert f"  run failed: {job.path}: the objective rose" in text
    assert "error" not in text


def test_what_is_still_to_do_is_less_once_something_is_done(plan):
    every = estimate_cost(plan)
    assert estimate_cost(plan, unfinished=True).jobs == every.jobs
    job = plan.of_study("s")[0]
    write_trace(job.path, run(job))
    left = estimate_cost(plan, unfinished=True)
    assert left.jobs["runs"] == every.jobs["runs"] - 1
    assert left.core_seconds < every.core_seconds
    for one in jobs_of(plan, "s"):
        for path in map(Path, one.outputs):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    assert estimate_cost(plan, unfinished=True).jobs.total() == 0


@pytest.mark.slow
def test_jobs_and_their_logs_are_those_of_the_rules(tmp_path, monkeypatch):
    project = Project.create(tmp_path / "project", EVERYTHING)
    monkeypatch.chdir(project.folder)
    # Our own profile lists no files.
    done = project.snakemake("--workflow-profile", "none", "--dry-run")
    found = re.findall(r"^ +output: (.*)\n +log: (.*)$", done.stdout + done.stderr, re.MULTILINE)
    of_rules = {(path, log) for outputs, log in found for path in outputs.split(", ")}
    ours = {(path, job.log) for job in every_job(project.plan()) for path in job.outputs}
    assert ours <= of_rules
    assert {log for _, log in ours} == {log for _, log in of_rules}
    others = {path for path, _ in of_rules - ours}
    # What else the rules write stands beside one of these outputs.
    assert {Path(path).suffix for path in others} <= {".json", ".yaml"}


def test_thousands_of_lines_are_not_printed(plan, monkeypatch):
    monkeypatch.setattr(status, "LISTED", 2)
    for job in plan.of_study("s"):
        Path(job.path).parent.mkdir(parents=True, exist_ok=True)
        Path(job.path).write_bytes(b"broken")
    lines = report(plan).splitlines()
    assert lines[0].startswith("s: 6 runs: 6 pending; 19 jobs: 6 in error")
    assert lines[-1] == "  error: 4 more"
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
