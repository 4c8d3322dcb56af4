"""Test progress bars and log lines: their text, their frequency, and that traces do not change."""

import io
import os
import pty
import subprocess
import sys
import time

import numpy as np
import pytest

from gvibench.engine import progress
from gvibench.engine.execute import execute
from gvibench.engine.progress import ProgressReport
from problems import prepared, spec


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that tests advance."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


class Recorded:
    objective = 12.3456789
    grad_norm = 0.5


def test_a_terminal_gets_a_bar_at_most_five_times_a_second(clock):
    stream = Terminal()
    with ProgressReport(spec(iterations=100), stream) as report:
        for iteration in range(1, 101):
            clock[0] += 0.0625
            report(iteration, Recorded, 0.0)
    frames = stream.getvalue().split("\r")[1:]
    assert len(frames) - 1 == 24  # in 6.25 seconds
    assert "49/100, objective 12.3457, gradient 5.0e-01, 16/s, 3 s left" in stream.getvalue()
    assert frames[-1] == "\x1b[K"  # the bar is erased
    assert all(len(frame.removesuffix("\x1b[K")) < 120 for frame in frames)


def test_a_log_gets_a_plain_line_a_minute(clock):
    stream = io.StringIO()
    with ProgressReport(spec(iterations=1000, seconds=200.0), stream) as report:
        for iteration in range(501, 631):  # a resumed run
            clock[0] += 1.0
            report(iteration, Recorded, float(iteration - 500))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0] == "561/1000, objective 12.3457, gradient 5.0e-01, 1/s, 2.3 min left"
    assert "\x1b" not in stream.getvalue()


def test_progress_reports_do_not_change_the_trace(monkeypatch):
    monkeypatch.setattr(progress, "TERMINAL_SECONDS", 0.0)
    run = spec(step=1e-2, iterations=40, record_every=7)
    stream = Terminal()
    reported = execute(run, prepared(), progress=ProgressReport(run, stream))
    silent = execute(run, prepared())
    assert stream.getvalue().count("\r") == 39
    assert reported.attrs["spec_hash"] == silent.attrs["spec_hash"]
    for name, values in reported.scalars.items():
        if name != "seconds":
            assert np.array_equal(values, silent.scalars[name])


@pytest.mark.slow
def test_the_command_draws_a_bar_only_on_a_terminal(tmp_path):
    words = [sys.executable, "-m", "gvibench", "run", "--dataset", "synthetic", "--solver", "vn"]
    words += ["--step", "1e-3", "--iterations", "1000000", "--seconds", "1"]
    words += ["--record-every", "1000", "--out", str(tmp_path / "t.zarr.zip")]
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stderr=theirs, stdout=subprocess.PIPE) as process:
        os.close(theirs)
        drawn = b""
        while True:
            try:
                drawn += os.read(ours, 1000)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    assert process.returncode == 0
    assert "░".encode() in drawn
    assert b"/1000000, objective" in drawn
    quiet = subprocess.run(words, capture_output=True, text=True, check=True)
    assert quiet.stderr == ""
