"""Test the charts of running jobs."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from gvibench.cli.main import main
from gvibench.cli.watch import Watcher, chart
from gvibench.datasets.cache import prepared_path
from gvibench.engine.execute import execute
from gvibench.engine.optimum import NoOptimumError, find_optimum, unknown_optimum
from gvibench.store.checkpoints import checkpoint_objectives, checkpoint_path
from gvibench.store.optima import write_optimum
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import write_trace
from gvibench.study.cleanup import bad_files
from gvibench.study.config import load_config
from gvibench.study.expand import expand

CONFIG = {"datasets": ["synthetic"], "solvers": ["vn"], "step": 0.1, "iterations": 40}
CONFIG |= {"seeds": 2, "pack": 1}


@pytest.fixture
def plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = {"studies": {"s": CONFIG}}
    Path("config").mkdir()
    Path("config/config.yaml").write_text(yaml.safe_dump(config))
    return expand(load_config(config))


def data_of(job):
    return read_prepared(prepared_path(job.specs[0].data))


def run(job, **options):
    return execute(job.specs[0], data_of(job), code_hash=job.code_hash, **options)


def start(job):
    """Execute a run and leave its last checkpoint in place."""
    out = Path(job.path)
    out.parent.mkdir(parents=True, exist_ok=True)
    return run(job, checkpoint=checkpoint_path(out), checkpoint_every=0.0)


def test_a_checkpoint_contains_the_curve(plan):
    job = plan.of_study("s")[0]
    trace = start(job)
    iteration, objective = checkpoint_objectives(checkpoint_path(Path(job.path)))
    assert iteration.tolist() == list(range(41))
    assert np.array_equal(objective, trace.scalars["objective"])


def test_the_command_draws_one_frame(plan, capsys):
    first, second = plan.of_study("s")
    assert main(["watch", "--once"]) == 0
    assert capsys.readouterr().out.startswith("s: 2 runs: 2 pending; 15 jobs: 15 pending")
    trace = start(first)
    assert main(["watch", "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("s: 2 runs: 1 running, 1 pending")
    assert lines[1] == "synthetic, vn, step-0.1_scale-1.0, seed 0"
    ends = trace.scalars["objective"][[0, -1]]
    assert lines[2] == f"  objective {ends[0]:.3g} -> {ends[1]:.3g}, 100% done"
    assert len(lines) == 3 + 5
    assert set("".join(lines[3:])) <= {" ", *map(chr, range(0x2800, 0x2900))}

    data = data_of(first)
    unknown = unknown_optimum(first.optimum.spec, data, NoOptimumError("no optimum found"))
    write_optimum(first.optimum.path, unknown)
    main(["watch", "--once"])
    assert "  objective " in capsys.readouterr().out
    assert bad_files(plan) == {}

    write_optimum(first.optimum.path, find_optimum(first.optimum.spec, data))
    main(["watch", "--once"])
    assert "  gap " in capsys.readouterr().out
    checkpoint_path(Path(first.path)).unlink()
    write_trace(first.path, trace)
    write_trace(second.path, run(second))
    # All runs are done, so the command ends.
    assert main(["watch"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("s: 2 runs: 2 done; 15 jobs: 3 done, 12 pending; about ")


def test_a_job_without_a_checkpoint_and_one_that_failed(plan):
    log = Path("results/s/logs/runs/synthetic/vn/step-0.1_scale-1.0/seed-0.log")
    log.parent.mkdir(parents=True)
    log.write_text("")
    watcher = Watcher(plan)
    assert watcher.frame(72)[2] == "  no checkpoint yet, 40 iterations"
    assert not watcher.ended
    for seed in (0, 1):
        log.with_name(f"seed-{seed}.log").write_text("gvibench.stages: failed\n")
    assert "2 in error" in watcher.frame(72)[0]
    assert watcher.ended


def test_a_chart_follows_the_curve():
    x = np.arange(10)
    rows = chart(x, -x.astype(float), width=6, rows=3)
    assert [len(row) for row in rows] == [2, 4, 6]
    flat = chart(x, np.full(10, 3.0), width=6, rows=3)
    assert [len(row) for row in flat] == [0, 0, 6]
    assert chart(np.array([]), np.array([]), 6, 3) == ["", "", ""]
