"""Test jobs with a block of seeds: their traces, and how they resume."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from test_checkpointing import assert_identical

from gvibench.datasets.cache import prepared_path
from gvibench.engine import block
from gvibench.engine.block import execute_block
from gvibench.engine.execute import execute
from gvibench.errors import Interrupted
from gvibench.spec.run import RunSpec
from gvibench.store.checkpoints import checkpoint_path, finished_path
from gvibench.store.traces import read_trace, read_traces, write_trace
from gvibench.study.defaults import complete_data
from problems import prepared, spec

SEEDS = (5, 6, 7)
SPECS = [spec(step=1e-2, iterations=20, seed=seed) for seed in SEEDS]


def run_block(out, specs=SPECS, data=None, code_hash="code"):
    settings = {"packed": True, "code_hash": code_hash, "exclusive": False, "no_step": ""}
    execute_block(specs, data or prepared(), out, **settings)


@pytest.fixture
def executed(monkeypatch):
    """Seeds that have been executed."""
    seeds = []

    def count(spec, *arguments, **settings):
        seeds.append(spec.seed)
        return execute(spec, *arguments, **settings)

    monkeypatch.setattr(block, "execute", count)
    return seeds


def hidden_files(folder: Path) -> list[str]:
    """Return what jobs have kept. A kill in the middle of writing also leaves a `.part` file."""
    names = [path.name for path in folder.iterdir()]
    return [name for name in names if name.startswith(".") and not name.endswith(".part")]


def test_a_block_has_the_traces_of_its_runs(tmp_path, capsys):
    out = tmp_path / "seeds-0.zarr.zip"
    run_block(out)
    traces = read_traces(out)
    assert [trace.spec["seed"] for trace in traces] == list(SEEDS)
    for wanted, trace in zip(SPECS, traces, strict=True):
        assert_identical(trace, execute(wanted, prepared()))
    assert hidden_files(tmp_path) == []
    assert len(capsys.readouterr().out.splitlines()) == len(SEEDS)


def test_a_block_has_a_group_for_each_start_and_seed(tmp_path):
    starts = [{"mean_scale": 0.0, "init_scale": 1.0}, {"mean_scale": 1.0, "init_scale": 0.1}]
    specs = [spec.replace(**start) for start in starts for spec in SPECS[:2]]
    run_block(tmp_path / "seeds-0.zarr.zip", specs)
    for wanted, trace in zip(specs, read_traces(tmp_path / "seeds-0.zarr.zip"), strict=True):
        assert_identical(trace, execute(wanted, prepared()))
    assert hidden_files(tmp_path) == []


def test_the_times_of_each_run_are_its_own(tmp_path):
    specs = [SPECS[0], SPECS[1].replace(iterations=2000), SPECS[2]]
    run_block(tmp_path / "seeds-0.zarr.zip", specs)
    first, long, last = read_traces(tmp_path / "seeds-0.zarr.zip")
    for short in (first, last):
        assert short.attrs["wall_seconds"] < long.attrs["wall_seconds"]
        assert short.scalars["seconds"][-1] < long.scalars["seconds"][-1]


@pytest.mark.parametrize("stop_after", SEEDS[:-1])
def test_a_stopped_block_goes_on_with_the_next_seed(tmp_path, monkeypatch, executed, stop_after):
    out, whole = tmp_path / "seeds-0.zarr.zip", tmp_path / "whole.zarr.zip"
    run_block(whole)

    def write_and_stop(path, trace):
        write_trace(path, trace)
        if trace.spec["seed"] == stop_after:
            os.kill(os.getpid(), signal.SIGTERM)

    executed.clear()
    with monkeypatch.context() as patch:
        patch.setattr(block, "write_trace", write_and_stop)
        with pytest.raises(Interrupted, match="interrupted at iteration 1"):
            run_block(out)
    ended = SEEDS[: SEEDS.index(stop_after) + 1]
    assert [finished_path(out, f"seed-{seed}").exists() for seed in SEEDS] == [
        s in ended for s in SEEDS
    ]
    assert checkpoint_path(out).exists()  # of the seed that had just begun
    executed.clear()
    run_block(out)
    assert executed == [seed for seed in SEEDS if seed not in ended]
    for trace, expected in zip(read_traces(out), read_traces(whole), strict=True):
        assert_identical(trace, expected)
    assert hidden_files(tmp_path) == []


def test_finished_seeds_of_other_runs_are_not_used(tmp_path, executed):
    out, data = tmp_path / "seeds-0.zarr.zip", prepared()
    finished = finished_path(out, "seed-6")
    kept = execute(SPECS[1], data, code_hash="code")
    for trace, hashes in (
        (kept, {}),
        (execute(SPECS[1].replace(step=0.1), data, code_hash="code"), {}),
        (kept, {"code_hash": "other"}),
        (kept, {"data": replace(data, content_hash="other")}),
    ):
        write_trace(finished, trace)
        executed.clear()
        run_block(out, **hashes)
        assert (6 in executed) is not (trace is kept and not hashes)
        finished.unlink(missing_ok=True)
    write_trace(finished, kept)
    finished.write_bytes(finished.read_bytes()[:-9])
    executed.clear()
    run_block(out)
    assert executed == list(SEEDS)


@pytest.mark.slow
def test_a_block_killed_at_ten_random_moments_ends_bit_identically(tmp_path):
    """Kill the process of a job, as a batch system would. No finished seed is executed again."""
    wdbc = complete_data({"dataset": "wdbc"})
    data = prepared_path(wdbc)
    wanted = {"solver": "sr-vn", "step": 1e-3, "expectation": "exact", "iterations": 1500}
    values = {**RunSpec(data=wdbc, beta=1.0, **wanted).to_dict(), "seed": None}
    job = {"spec": values, "starts": [{}], "seeds": list(range(16)), "packed": True}
    job |= {"code_hash": "code", "exclusive": False}
    words = [sys.executable, "-m", "gvibench.stages", "run", "--job", json.dumps(job)]
    words += ["--data", str(data), "--out"]
    out, whole = tmp_path / "seeds-0.zarr.zip", tmp_path / "whole.zarr.zip"
    generator, kept = random.Random(20261117), {}

    def ended():
        return [seed for seed in job["seeds"] if finished_path(out, f"seed-{seed}").exists()]

    for _ in range(10):
        target = len(kept) + generator.randint(0, 1)
        with subprocess.Popen([*words, out], stdout=subprocess.DEVNULL) as process:
            while len(ended()) < target:
                assert process.poll() is None
                time.sleep(0.002)
            time.sleep(generator.uniform(0.0, 0.5))
            process.kill()
        assert not out.exists()
        for seed in ended():
            seconds = read_trace(finished_path(out, f"seed-{seed}")).attrs["wall_seconds"]
            assert kept.setdefault(seed, seconds) == seconds
    assert len(kept) > 2
    subprocess.run([*words, out], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*words, whole], check=True, stdout=subprocess.DEVNULL)
    for trace, expected in zip(read_traces(out), read_traces(whole), strict=True):
        assert_identical(trace, expected)
        assert trace.attrs["wall_seconds"] == kept.get(
            trace.spec["seed"], trace.attrs["wall_seconds"]
        )
    assert hidden_files(tmp_path) == []
