"""`gvibench doctor` finds a machine in order, and one that is not."""

import numpy as np
import pytest

from gvibench.check import device as doctor
from gvibench.cli import main as cli
from gvibench.numerics import cuda_backend
from gvibench.numerics.numpy_backend import NumpyBackend
from gvibench.solvers import ng_flow


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(doctor, "TIMED_ROWS", 100)
    monkeypatch.setattr(doctor, "TIMED_FEATURES", 5)
    monkeypatch.setattr(doctor, "TIMED_POINTS", 1000)
    monkeypatch.setattr(ng_flow, "MAX_STEPS", 100)  # which a flow that is NaN takes


def test_cpu_is_in_order(capsys):
    assert cli.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith("cpu: all checks ok\n")
    assert "FAILED" not in printed
    assert "ns per point" in printed


def test_device_is_examined(stand_in, capsys):
    assert cli.main(["doctor", "--device", "cuda"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("device: cuda: stand-in\n")
    assert "piecewise, float64, against the CPU" in printed


def test_no_device_is_one_sentence(stand_in, monkeypatch, capsys):
    monkeypatch.setattr(stand_in.cuda, "is_available", lambda: False)
    assert cli.main(["doctor", "--device", "cuda"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "CuPy finds no device" in captured.err


@pytest.mark.parametrize("wrong", [1.0 + 1e-6, np.nan])
def test_a_wrong_result_is_found(monkeypatch, capsys, wrong):
    correct = NumpyBackend.row_norms
    monkeypatch.setattr(NumpyBackend, "row_norms", lambda self, x: wrong * correct(self, x))
    assert cli.main(["doctor"]) == 2
    captured = capsys.readouterr()
    assert "  FAILED  norms of rows" in captured.out
    assert "do not trust" in captured.err


def test_an_error_is_a_finding_and_the_other_checks_go_on(stand_in, monkeypatch, capsys):
    def broken(matrix):
        raise RuntimeError("CUSOLVER_STATUS_INTERNAL_ERROR")

    monkeypatch.setattr(cuda_backend, "_potrf", broken)
    assert cli.main(["doctor", "--device", "cuda"]) == 2
    printed = capsys.readouterr().out
    assert "RuntimeError: CUSOLVER_STATUS_INTERNAL_ERROR" in printed
    assert "  FAILED  vn " in printed
    assert "  ok      sr-vn " in printed
