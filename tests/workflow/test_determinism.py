"""Same spec, same machine, same bits: also in other processes and under load."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest

from gvibench.cli.main import main
from gvibench.store.traces import read_trace


def burn(stop) -> None:
    x = np.random.default_rng(0).standard_normal((400, 400))
    while not stop.is_set():
        x = x @ x
        x /= np.abs(x).max()


@pytest.fixture
def busy_machine():
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    workers = [context.Process(target=burn, args=(stop,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    yield
    stop.set()
    for worker in workers:
        worker.join()


def content(path):
    trace = read_trace(path)
    scalars = {name: v.tobytes() for name, v in trace.scalars.items() if name != "seconds"}
    factors = {name: v.tobytes() for name, v in trace.factors.items()}
    return scalars, factors, trace.mean.tobytes(), trace.attrs["spec_hash"]


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("piecewise", "stochastic")]


@pytest.mark.parametrize("expectation", ["exact", *SLOW])
def test_bits_do_not_depend_on_what_runs_beside(tmp_path, request, expectation):
    words = ["run", "--dataset", "wdbc", "--solver", "sr-vn", "--step", "1e-3"]
    words += ["--iterations", "200", "--expectation", expectation, "--out"]
    assert main([*words, str(tmp_path / "quiet.zarr.zip")]) == 0
    request.getfixturevalue("busy_machine")
    path = tmp_path / "busy.zarr.zip"
    subprocess.run([sys.executable, "-m", "gvibench", *words, str(path)], check=True)
    assert content(path) == content(tmp_path / "quiet.zarr.zip")
