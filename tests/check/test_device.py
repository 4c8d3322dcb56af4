"""Test that `gvibench doctor` accepts a correct device and reports a faulty one."""

import numpy as np
import pytest

from gvibench.check import device
from gvibench.cli.main import main
from gvibench.numerics import cuda_backend
from gvibench.numerics.numpy_backend import NumpyBackend
from gvibench.solvers import ng_flow


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(device, "TIMED_ROWS", 100)
    monkeypatch.setattr(device, "TIMED_FEATURES", 5)
    monkeypatch.setattr(device, "TIMED_POINTS", 1000)
    monkeypatch.setattr(ng_flow, "MAX_STEPS", 100)  # a flow with NaN takes all of them


@pytest.mark.slow
def test_the_cpu_passes(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith("cpu: all checks ok\n")
    assert "FAILED" not in printed
    assert "ns per point" in printed


def test_a_gpu_passes(stand_in, capsys):
    assert main(["doctor", "--device", "cuda"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("device: cuda: stand-in\n")
    assert "piecewise, float64, against the CPU" in printed


def test_a_missing_gpu_gives_one_line(stand_in, monkeypatch, capsys):
    monkeypatch.setattr(stand_in.cuda, "is_available", lambda: False)
    assert main(["doctor", "--device", "cuda"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "CuPy finds no device" in captured.err


@pytest.mark.parametrize("wrong", [1.0 + 1e-6, np.nan])
def test_a_wrong_result_is_reported(monkeypatch, capsys, wrong):
    correct = NumpyBackend.row_norms
    monkeypatch.setattr(NumpyBackend, "row_norms", lambda self, x: wrong * correct(self, x))
    assert main(["doctor"]) == 2
    captured = capsys.readouterr()
    assert "  FAILED  norms of rows" in captured.out
    assert "do not trust" in captured.err


def test_an_error_fails_one_check_and_the_others_still_run(stand_in, monkeypatch, capsys):
    def broken(matrix):
        raise RuntimeError("CUSOLVER_STATUS_INTERNAL_ERROR")

    monkeypatch.setattr(cuda_backend, "_potrf", broken)
    assert main(["doctor", "--device", "cuda"]) == 2
    printed = capsys.readouterr().out
    assert "RuntimeError: CUSOLVER_STATUS_INTERNAL_ERROR" in printed
    assert "  FAILED  vn " in printed
    assert "  ok      sr-vn " in printed
