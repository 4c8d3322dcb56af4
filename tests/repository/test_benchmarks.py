"""Test that the benchmarks run. Their measurements are not checked."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _import_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in {path.stem for path in BENCHMARKS.glob("*.py")}:
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_iterations(monkeypatch):
    import iterations

    monkeypatch.setattr(iterations, "SECONDS", 0.0)
    monkeypatch.setattr(iterations, "real_rows", lambda dataset: None)
    monkeypatch.setitem(iterations.SIZES, "diabetes_scale", (80, 5))
    results = iterations.measure(["diabetes_scale"])
    assert iterations.as_table(results).count("\n") == 1 + len(results)


def test_aggregation():
    import aggregation

    seconds = aggregation.measure(count=3, points=10)
    assert all(value > 0 for value in seconds.values())


@pytest.mark.slow
def test_packing(monkeypatch):
    import packing

    monkeypatch.setattr(packing, "STACKED", ((30, 3),))
    monkeypatch.setattr(packing, "MULTIPLIED", ((40, 35),))
    monkeypatch.setattr(packing, "ITERATIONS", 10)
    table = packing.as_table(packing.measure())
    assert "30 x 3" in table
    assert "40 x 35" in table


def test_expectation(monkeypatch):
    import expectation

    monkeypatch.setattr(expectation, "POINTS", 100)
    monkeypatch.setattr(expectation, "SPREADS", (1.0,))
    assert expectation.as_table(expectation.measure()).count("\n") == 2
