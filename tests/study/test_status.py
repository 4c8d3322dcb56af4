import itertools
import os
import re
from pathlib import Path

import pytest
import yaml

from gvibench.cli.main import main
from gvibench.engine.block import execute_block
from gvibench.engine.execute import execute
from gvibench.store.checkpoints import checkpoint_path, finished_path
from gvibench.store.traces import write_trace
from gvibench.study import code_hash, status
from gvibench.study.cleanup import orphans
from gvibench.study.config import load_config
from gvibench.study.cost import estimate_cost
from gvibench.study.expand import expand
from gvibench.study.inventory import all_jobs, jobs_of
from gvibench.study.status import Tracker, one_line, report
from problems import prepared
from workflow.project import Project

STUDY = {"datasets": ["synthetic"], "solvers": ["vn", "gd"], "step": 0.1, "seeds": 3, "pack": 1}
CONFIG = {"studies": {"s": {**STUDY, "iterations": 40}}}


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return expand(load_config(CONFIG))


def run(job, **options):
    spec = job.specs[0]
    data = prepared(data=spec.data)
    return execute(spec, data, code_hash=job.code_hash, **options)


def test_the_state_of_a_job_is_determined_from_files(plan):
    jobs = plan.of_study("s")
    assert {progress.state for progress in Tracker(plan).read()["s"]} == {"pending"}
    assert "s: 6 runs: 6 pending; 19 jobs: 19 pending; about" in report(plan)

    write_trace(jobs[0].path, run(jobs[0]))
    broken = run(jobs[3])
    broken.attrs.update(status="diverged", reason="at iteration 3")
    write_trace(jobs[3].path, broken)
    Path(jobs[1].path).parent.mkdir(parents=True, exist_ok=True)
    run(jobs[1], checkpoint=checkpoint_path(Path(jobs[1].path)), checkpoint_every=0.0)
    log = Path("results/s/logs/runs/synthetic/vn/step-0.1_scale-1.0/seed-2.log")
    log.parent.mkdir(parents=True)
    log.write_text("gvibench.stages: something failed\n")

    by_path = {progress.job.path: progress for progress in Tracker(plan).read()["s"]}
    states = [by_path[job.path].state for job in jobs]
    assert states == ["done", "running", "error", "done", "pending", "pending"]
    assert by_path[jobs[1].path].share == 1.0  # of its last checkpoint
    text = report(plan)
    assert "6 runs: 1 done, 1 diverged, 1 running, 3 pending" in text
    assert "19 jobs: 2 done, 1 running, 1 in error, 15 pending" in text
    assert f"  error in job {jobs[2].path}: gvibench.stages: something failed" in text
    assert f"  run diverged: {jobs[3].path}: at iteration" in text
    assert "running 100%" in text


def test_one_line_agrees_with_the_report(plan):
    jobs = plan.of_study("s")
    for job, ending in zip(jobs, ("completed", "diverged", "failed"), strict=False):
        trace = run(job)
        trace.attrs.update(status=ending, reason="a reason")
        write_trace(job.path, trace)
    log = Path(next(job.log for job in jobs_of(plan, "s") if job.of is jobs[3]))
    log.parent.mkdir(parents=True)
    log.touch()
    line, first = one_line(Tracker(plan).read()), report(plan).splitlines()[0]
    assert first.startswith(
        "s: 6 runs: 1 done, 1 diverged, 1 failed, 1 running, 2 pending; 19 jobs: 3"
    )
    [left] = re.findall(r"; (about .* left) on", first)
    assert line == f"3 of 19 jobs, {left}; 1 of 6 runs done, 1 running, 1 diverged, 1 failed"
    log.write_text("gvibench.stages: something failed\n")
    assert one_line(Tracker(plan).read()).startswith("3 of 19 jobs, 1 in error, about ")


def test_jobs_shared_by_studies_are_counted_once_in_one_line(plan):
    study = {**STUDY, "iterations": 40}
    two = expand(load_config({"studies": {"s": study, "t": study}}))
    shared = len(jobs_of(two, "s")) + len(jobs_of(two, "t")) - len(all_jobs(two))
    assert shared == 2  # the data and the optimum
    line = one_line(Tracker(two).read())
    assert line.startswith(f"0 of {len(all_jobs(two))} jobs, about ")
    assert line.endswith("; 0 of 12 runs done")


def test_the_remaining_time_includes_jobs_that_are_no_runs(whole):
    paths = [job.path for job in jobs_of(whole, "s") if job.stage == "tuning"]
    assert paths
    times = []
    for path in (None, *paths):
        if path:
            Path(path).parent.mkdir(parents=True)
            Path(path).touch()
        times.append(status._remaining_seconds(Tracker(whole).read()["s"]))
    assert all(after < before for before, after in itertools.pairwise(times))


def test_a_finished_job_is_read_again_after_its_file_has_changed(plan, monkeypatch):
    job = plan.of_study("s")[0]
    write_trace(job.path, run(job))
    reads = []
    read = status.progress_of_job
    monkeypatch.setattr(status, "progress_of_job", lambda job: reads.append(job.path) or read(job))
    tracker = Tracker(plan)
    for _ in range(2):
        assert "1 of 6 runs done" in one_line(tracker.read())
    assert reads.count(job.path) == 1
    Path(job.path).unlink()  # as Snakemake does before it re-runs a job
    assert "0 of 6 runs done" in one_line(tracker.read())
    trace = run(job)
    trace.attrs.update(status="diverged", reason="a reason")
    write_trace(job.path, trace)
    assert one_line(tracker.read()).endswith("0 of 6 runs done, 1 diverged")


@pytest.mark.parametrize("pack", [1, 3])
def test_runs_of_another_config_or_other_code_are_outdated(plan, monkeypatch, pack):
    study = {**STUDY, "solvers": ["vn"], "iterations": 2, "pack": pack}
    plan = expand(load_config({"studies": {"s": study}}))
    data = prepared(data=plan.of_study("s")[0].specs[0].data)
    for job in plan.of_study("s"):
        settings = {"packed": job.packed, "exclusive": False, "code_hash": job.code_hash}
        execute_block(job.specs, data, Path(job.path), **settings, no_step="")
    summary = Path("results/s/summary.md")
    summary.touch()
    assert report(plan).startswith("s: 3 runs: 3 done; ")
    assert "outdated" not in report(plan)

    longer = expand(load_config({"studies": {"s": {**study, "iterations": 3}}}))
    jobs = 1 + len(plan.runs)  # with the summary
    assert f"s: 3 runs: 3 outdated; {len(jobs_of(plan, 's'))} jobs: {jobs} outdated, " in report(
        longer
    )
    assert "; 0 of 3 runs done" in one_line(Tracker(longer).read())
    if pack == 3:
        more = expand(load_config({"studies": {"s": {**study, "seeds": [0, 1]}}}))
        assert report(more).startswith("s: 2 runs: 2 outdated; ")

    monkeypatch.setattr(code_hash, "run_hash", lambda spec: "another")
    edited = expand(load_config({"studies": {"s": study}}))
    assert report(edited).startswith("s: 3 runs: 3 outdated; ")


def test_finished_seeds_of_a_job_are_counted(plan):
    study = {**STUDY, "iterations": 40, "pack": 3}
    plan = expand(load_config({"studies": {"s": study}}))
    job = plan.of_study("s")[0]
    out = Path(job.path)
    out.parent.mkdir(parents=True)
    write_trace(finished_path(out, "seed-0"), run(job))
    assert "6 runs: 1 done, 5 pending; 15 jobs: 15 pending" in report(plan)
    run(job, checkpoint=checkpoint_path(out), checkpoint_every=0.0)
    text = report(plan)
    assert "6 runs: 1 done, 1 running, 4 pending; 15 jobs: 1 running, 14 pending" in text
    assert f"running 67% {out}: iteration 40 of run 2 of 3" in text
    assert not orphans(plan)  # the job will use them


def test_a_run_with_an_old_checkpoint_is_pending(plan):
    job = plan.of_study("s")[0]
    checkpoint = checkpoint_path(Path(job.path))
    checkpoint.parent.mkdir(parents=True)
    run(job, checkpoint=checkpoint, checkpoint_every=0.0)
    assert "6 runs: 1 running, 5 pending" in report(plan)
    os.utime(checkpoint, (0, 0))
    assert "6 runs: 6 pending" in report(plan)


def test_an_interrupted_job_is_pending_and_not_in_error(plan):
    job = plan.of_study("s")[0]
    checkpoint = checkpoint_path(Path(job.path))
    checkpoint.parent.mkdir(parents=True)
    run(job, checkpoint=checkpoint, checkpoint_every=0.0)
    log = Path("results/s/logs/runs/synthetic/vn/step-0.1_scale-1.0/seed-0.log")
    log.parent.mkdir(parents=True)
    log.write_text(f"gvibench.stages: interrupted at iteration 9; it resumes from {checkpoint}\n")
    assert "6 runs: 6 pending; 19 jobs: 19 pending" in report(plan)


def test_commands_accept_another_results_folder(plan, capsys):
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


def test_the_remaining_time_is_estimated_from_finished_runs(plan):
    jobs = plan.of_study("s")
    trace = run(jobs[0])
    times = []
    for seconds in (1e4, 1e7):
        trace.attrs["wall_seconds"] = seconds
        write_trace(jobs[0].path, trace)
        times.append(re.search(r"about (\S+) h left on \d+ core", report(plan))[1])
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
"""A study with jobs of all stages."""


@pytest.fixture
def whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return expand(load_config({"studies": {"s": EVERYTHING}}))


def test_an_error_of_a_stage_is_reported_with_the_last_line_of_its_log(whole):
    for job in jobs_of(whole, "s"):
        log = Path(job.log)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"started\ngvibench.stages: {job.stage} failed\n")
        text = report(whole)
        assert "1 in error" in text.splitlines()[0]
        assert f"  error in job {job.path}: gvibench.stages: {job.stage} failed" in text
        log.unlink()
    stages = {job.stage for job in jobs_of(whole, "s")}
    assert {"data", "beta", "optimum", "tuning", "run", "aggregate"} <= stages
    assert {"table", "figure", "summary", "page"} <= stages


def test_a_failed_run_is_not_a_failed_job(plan):
    job = plan.of_study("s")[0]
    trace = run(job)
    trace.attrs.update(status="failed", reason="the objective rose")
    write_trace(job.path, trace)
    text = report(plan)
    assert "6 runs: 1 failed, 5 pending; 19 jobs: 1 done, 18 pending" in text
    assert f"  run failed: {job.path}: the objective rose" in text
    assert "error" not in text


def test_finished_jobs_are_not_part_of_the_remaining_cost(plan):
    total = estimate_cost(plan)
    assert estimate_cost(plan, unfinished=True).jobs == total.jobs
    job = plan.of_study("s")[0]
    write_trace(job.path, run(job))
    left = estimate_cost(plan, unfinished=True)
    assert left.jobs["runs"] == total.jobs["runs"] - 1
    assert left.core_seconds < total.core_seconds
    for finished in jobs_of(plan, "s"):
        for path in map(Path, finished.outputs):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    assert estimate_cost(plan, unfinished=True).jobs.total() == 0


@pytest.mark.slow
def test_jobs_and_logs_agree_with_the_rules(tmp_path, monkeypatch):
    project = Project.create(tmp_path / "project", EVERYTHING)
    monkeypatch.chdir(project.folder)
    # The default profile does not print file names.
    done = project.snakemake("--workflow-profile", "none", "--dry-run")
    printed = re.findall(r"^ +output: (.*)\n +log: (.*)$", done.stdout + done.stderr, re.MULTILINE)
    of_rules = {(path, log) for outputs, log in printed for path in outputs.split(", ")}
    ours = {(path, job.log) for job in all_jobs(project.plan()) for path in job.outputs}
    assert ours <= of_rules
    assert {log for _, log in ours} == {log for _, log in of_rules}
    others = {path for path, _ in of_rules - ours}
    # The rules also write metadata files beside these outputs.
    assert {Path(path).suffix for path in others} <= {".json", ".yaml"}


def test_the_number_of_listed_jobs_is_limited(plan, monkeypatch):
    monkeypatch.setattr(status, "MAX_LISTED", 2)
    for job in plan.of_study("s"):
        Path(job.path).parent.mkdir(parents=True, exist_ok=True)
        Path(job.path).write_bytes(b"broken")
    lines = report(plan).splitlines()
    assert lines[0].startswith("s: 6 runs: 6 pending; 19 jobs: 6 in error")
    assert lines[-1] == "  error: 4 more"
    assert len(lines) == 4


def test_orphans_are_results_outside_the_plan_and_old_partial_files(plan):
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
