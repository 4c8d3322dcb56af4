"""Test that a killed run resumes and produces a bit-identical trace."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from gvibench.engine.checkpointing import stop_on_signals
from gvibench.engine.execute import execute
from gvibench.errors import Interrupted
from gvibench.registry import SOLVERS
from gvibench.store.checkpoints import checkpoint_iteration, checkpoint_path
from gvibench.store.traces import read_trace
from problems import prepared, spec


def assert_identical(trace, other):
    assert np.array_equal(trace.iteration, other.iteration)
    assert trace.scalars.keys() == other.scalars.keys()
    for name, values in trace.scalars.items():
        if name != "seconds":
            assert np.array_equal(values, other.scalars[name], equal_nan=True), name
    assert np.array_equal(trace.snapshot, other.snapshot)
    assert np.array_equal(trace.mean, other.mean)
    for name, values in trace.factors.items():
        assert np.array_equal(values, other.factors[name]), name
    for name in ("status", "reason", "iterations_done", "spec_hash"):
        assert trace.attrs[name] == other.attrs[name]


CASES = [
    *[(name, {}, "exact") for name in SOLVERS.built_in if SOLVERS.load(name).has_step],
    *[(name, {}, "stochastic") for name in ("advi", "bam", "gsm")],
    ("advi", {"update": "adam", "average": False}, "stochastic"),
    ("ng-flow", {"parametrisation": "covariance"}, "exact"),
    ("sr-vn", {}, "stochastic"),
]


@pytest.fixture
def handled_signals():
    """Let signals stop runs, also if a shell ignores Ctrl-C, and forget them after the test."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    with stop_on_signals():
        yield
    with stop_on_signals():
        pass
    signal.signal(signal.SIGINT, handler)


class Recording:
    """Progress callback that notes the iterations and sends a signal at one of them."""

    def __init__(self, number=None, at=None):
        self.number, self.at, self.iterations = number, at, []

    def __call__(self, iteration, recorder, seconds):
        self.iterations.append(iteration)
        if iteration == self.at:
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize(("solver", "options", "expectation"), CASES)
@pytest.mark.usefixtures("handled_signals")
def test_a_stopped_run_resumes_bit_identically(tmp_path, solver, options, expectation):
    path = () if solver == "sr-vn-rotated" else ("covariance_factor_path",)
    run = spec(
        solver=solver,
        solver_options=options,
        expectation=expectation,
        minibatches="epoch" if solver == "advi" else "independent",
        step=1e-3,
        iterations=30,
        record_every=4,
        record=("sign_flips", "flow_time", *path),
    )
    uninterrupted = execute(run, prepared())
    checkpoint = tmp_path / "checkpoint"
    stopped, resumed = Recording(signal.SIGTERM, at=16), Recording()
    with pytest.raises(Interrupted, match="interrupted at iteration 17"):
        execute(run, prepared(), checkpoint=checkpoint, progress=stopped)
    with stop_on_signals():  # forgets the signal
        trace = execute(run, prepared(), checkpoint=checkpoint, progress=resumed)
    assert_identical(trace, uninterrupted)
    assert resumed.iterations == list(range(18, 31))


@pytest.mark.parametrize("solver", ["vn", "sr-vn", "bw-gd"])
@pytest.mark.usefixtures("handled_signals")
def test_a_stopped_search_for_steps_resumes_bit_identically(tmp_path, solver):
    chosen = {"solver": solver, "step": 1.0, "step_rule": "auto", "init_scale": 2.0}
    run = spec(**chosen, iterations=30, record_every=4)
    uninterrupted = execute(run, prepared())
    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(Interrupted, match="interrupted at iteration 7"):
        execute(run, prepared(), checkpoint=checkpoint, progress=Recording(signal.SIGTERM, at=6))
    with stop_on_signals():  # forgets the signal
        trace = execute(run, prepared(), checkpoint=checkpoint)
    assert_identical(trace, uninterrupted)
    for name in ("rejected_steps", "screened_steps", "indefinite_steps"):
        assert trace.attrs[name] == uninterrupted.attrs[name]
    assert trace.scalars["step"].max() > 0


@pytest.mark.usefixtures("handled_signals")
def test_a_second_ctrl_c_stops_immediately():
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_corrupt_checkpoints_and_those_of_other_runs_are_ignored(tmp_path):
    path = tmp_path / "checkpoint"
    other = spec(step=0.02, iterations=20)
    execute(other, prepared(), checkpoint=path, checkpoint_every=0.0)
    assert path.exists()
    run = spec(step=0.01, iterations=20)
    uninterrupted = execute(run, prepared())
    assert_identical(execute(run, prepared(), checkpoint=path), uninterrupted)
    path.write_bytes(path.read_bytes()[:-50])
    assert_identical(execute(run, prepared(), checkpoint=path), uninterrupted)


def test_the_intervals_between_checkpoints_double_up_to_the_maximum(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint"
    now, written = 0.0, []
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def advance(iteration, recorder, seconds):
        """Note the checkpoints so far, and let a second pass."""
        nonlocal now
        if path.exists():
            written.append(int(now))
            path.unlink()
        now += 1.0

    execute(
        spec(step=1e-3, iterations=200),
        prepared(),
        checkpoint=path,
        checkpoint_every=60.0,
        progress=advance,
    )
    assert written == [10, 30, 70, 130, 190]


def command(*settings):
    return [
        *(sys.executable, "-m", "gvibench", "run", "--dataset", "digits-odd-even"),
        *("--solver", "sr-vn", "--step", "1e-3", "--iterations", "2000"),
        *("--checkpoint-every", "0.02", *settings, "--out"),
    ]


@pytest.mark.slow
def test_a_run_killed_ten_times_resumes_bit_identically(tmp_path):
    # Iterations are slow enough that the run does not end before it is killed.
    words = command("--expectation", "gauss-hermite", "--nodes", "200")
    out, whole = tmp_path / "t.zarr.zip", tmp_path / "whole.zarr.zip"
    generator = random.Random(20250101)
    for _ in range(10):
        target = (checkpoint_iteration(out) or 0) + generator.randint(20, 120)
        with subprocess.Popen([*words, out]) as process:
            while (checkpoint_iteration(out) or 0) < target:
                assert process.poll() is None
                time.sleep(0.002)
            process.kill()
    subprocess.run([*words, out], check=True)
    subprocess.run([*words, whole], check=True)
    assert_identical(read_trace(out), read_trace(whole))
    assert read_trace(out).attrs["iterations_done"] == 2000
    assert not checkpoint_path(out).exists()


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    subprocess.run([*command(), folder / "whole.zarr.zip"], check=True)
    return command(), read_trace(folder / "whole.zarr.zip")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
def test_a_signal_writes_a_checkpoint_and_a_message_on_how_to_resume(
    tmp_path, long_run, number, code
):
    words, uninterrupted = long_run
    out = tmp_path / "t.zarr.zip"
    # A shell may have started the tests with Ctrl-C ignored, which subprocesses inherit.
    handling = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen([*words, out], stderr=subprocess.PIPE, text=True, **handling) as process:
        while not checkpoint_path(out).exists():
            time.sleep(0.01)
            assert process.poll() is None
        process.send_signal(number)
        message = process.stderr.read()
        assert process.wait() == code
    iteration = checkpoint_iteration(out)
    assert f"interrupted at iteration {iteration}; the same command resumes from" in message
    assert str(checkpoint_path(out)) in message
    assert message.count("\n") == 1
    assert not out.exists()
    subprocess.run([*words, out], check=True)
    assert_identical(read_trace(out), uninterrupted)
