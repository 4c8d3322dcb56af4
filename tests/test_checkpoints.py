"""A run that is killed and resumed ends as if nothing had happened."""

import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from gvibench import solvers
from gvibench.engine import checkpointing as checkpoints
from gvibench.engine.checkpointing import Checkpoints, checkpoint_iteration, checkpoint_path
from gvibench.engine.execute import execute
from gvibench.errors import Interrupted
from gvibench.store.traces import read_trace
from gvibench.store.zarrzip import Group
from problems import spec
from test_run import prepared


def same(one, other):
    assert np.array_equal(one.iteration, other.iteration)
    assert one.scalars.keys() == other.scalars.keys()
    for name, values in one.scalars.items():
        if name != "seconds":
            assert np.array_equal(values, other.scalars[name]), name
    assert np.array_equal(one.snapshot, other.snapshot)
    assert np.array_equal(one.mean, other.mean)
    for name, values in one.factors.items():
        assert np.array_equal(values, other.factors[name]), name
    for name in ("status", "reason", "iterations_done", "spec_hash"):
        assert one.attrs[name] == other.attrs[name]


CASES = [
    *[(name, {}, "exact") for name in solvers.MODULES],
    ("ng-flow", {"parametrisation": "covariance"}, "exact"),
    ("sr-vn", {}, "stochastic"),
]


@pytest.mark.parametrize(("solver", "options", "expectation"), CASES)
def test_every_solver_resumes_bit_for_bit(tmp_path, monkeypatch, solver, options, expectation):
    path = () if solver == "sr-vn-rotated" else ("covariance_factor_path",)
    run = spec(
        solver=solver,
        solver_options=options,
        expectation=expectation,
        step=1e-3,
        iterations=30,
        record_every=4,
        record=("sign_flips", "data_passes", "flow_time", *path),
    )
    undisturbed = execute(run, prepared())
    kept = tmp_path / "checkpoint"
    real = Checkpoints.update

    def stop_at_17(self, state, recorder, seconds):
        told = signal.SIGTERM if state.iteration == 17 else None
        monkeypatch.setattr(checkpoints, "_stop_signal", told)
        real(self, state, recorder, seconds)

    monkeypatch.setattr(Checkpoints, "update", stop_at_17)
    with pytest.raises(Interrupted, match="interrupted at iteration 17"):
        execute(run, prepared(), checkpoint=kept)
    monkeypatch.undo()
    assert kept.exists()
    calls = []
    monkeypatch.setattr(Checkpoints, "update", lambda *arguments: calls.append(arguments))
    same(execute(run, prepared(), checkpoint=kept), undisturbed)
    assert len(calls) == 30 - 17  # it went on, and did not start again


def test_foreign_and_damaged_checkpoints_are_ignored(tmp_path):
    path = tmp_path / "checkpoint"
    other = spec(step=0.02, iterations=20)
    execute(other, prepared(), checkpoint=path, checkpoint_every=0.0)
    assert path.exists()
    run = spec(step=0.01, iterations=20)
    undisturbed = execute(run, prepared())
    same(execute(run, prepared(), checkpoint=path), undisturbed)
    path.write_bytes(path.read_bytes()[:-50])
    same(execute(run, prepared(), checkpoint=path), undisturbed)


def test_checkpoints_come_soon_and_then_less_often(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    written = []
    monkeypatch.setattr(checkpoints, "_to_group", lambda *arguments: Group())
    monkeypatch.setattr(checkpoints, "write_zip", lambda *arguments: written.append(now[0]))
    keeper = Checkpoints(tmp_path / "checkpoint", "identity", 60.0)
    for second in range(200):
        now[0] = float(second)
        keeper.update(None, None, 0.0)
    assert written == [10.0, 30.0, 70.0, 130.0, 190.0]


def command(*settings):
    return [
        *(sys.executable, "-m", "gvibench", "run", "--dataset", "digits-odd-even"),
        *("--solver", "sr-vn", "--step", "1e-3", "--iterations", "2000"),
        *("--checkpoint-every", "0.02", *settings, "--out"),
    ]


@pytest.mark.slow
def test_ten_kills_at_random_moments(tmp_path):
    # Iterations that take long enough for nothing to end before it is killed.
    words = command("--expectation", "gauss-hermite", "--nodes", "200")
    out, whole = tmp_path / "t.zarr.zip", tmp_path / "whole.zarr.zip"
    moments = random.Random(20250101)
    for _ in range(10):
        moment = (checkpoint_iteration(out) or 0) + moments.randint(20, 120)
        with subprocess.Popen([*words, out]) as process:
            while (checkpoint_iteration(out) or 0) < moment:
                assert process.poll() is None
                time.sleep(0.002)
            process.kill()
    subprocess.run([*words, out], check=True)
    subprocess.run([*words, whole], check=True)
    same(read_trace(out), read_trace(whole))
    assert read_trace(out).attrs["iterations_done"] == 2000
    assert not checkpoint_path(out).exists()


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    subprocess.run([*command(), folder / "whole.zarr.zip"], check=True)
    return command(), read_trace(folder / "whole.zarr.zip")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_a_signal_keeps_the_state_and_the_message_says_how_to_resume(
    tmp_path, long_run, number, code
):
    words, undisturbed = long_run
    out = tmp_path / "t.zarr.zip"
    # A shell may have told the tests, and so all that they start, to ignore Ctrl-C.
    heeding = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen([*words, out], stderr=subprocess.PIPE, text=True, **heeding) as process:
        while not checkpoint_path(out).exists():
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(number)
        message = process.stderr.read()
        assert process.wait() == code
    kept = checkpoint_iteration(out)
    assert f"interrupted at iteration {kept}; the same command resumes from" in message
    assert str(checkpoint_path(out)) in message
    assert message.count("\n") == 1
    assert not out.exists()
    subprocess.run([*words, out], check=True)
    same(read_trace(out), undisturbed)
