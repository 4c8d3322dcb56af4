"""Test that the benchmarks run. Their measurements are not checked."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import xarray as xr

from gvibench.store.traces import read_trace
from gvibench.study.aggregate import aggregate

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


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


def test_steps(monkeypatch):
    import steps

    monkeypatch.setattr(steps, "real_rows", lambda dataset: None)
    monkeypatch.setattr(steps, "SIZES", {"diabetes_scale": (80, 5)})
    monkeypatch.setattr(steps, "REPEATS", 1)
    monkeypatch.setattr(steps, "STEPS", 1)
    results = steps.measure()
    assert len(results) == len(steps.ITERATIONS)
    assert all(result.trials >= 1 for result in results)
    assert steps.as_table(results).count("\n") == 1 + len(results)


def test_made_traces(tmp_path):
    from made_traces import write_study

    manifest_path = write_study(tmp_path, runs=60, points=50)
    aggregate(manifest_path, tmp_path / "out.zarr.zip", root=tmp_path)
    with xr.open_dataset(tmp_path / "out.zarr.zip") as dataset:
        assert dataset.sizes["run"] == 60
        assert len(set(dataset["dataset"].values)) == 10
        assert {"converged", "completed"} <= set(dataset["status"].values)
    manifest = json.loads(manifest_path.read_text())
    for row in manifest["runs"]:
        trace = read_trace(tmp_path / row["path"])
        assert len(trace.iteration) <= manifest["records"] == 50
        assert sorted({*trace.scalars} - {"step"}) == manifest["curves"]


@pytest.mark.slow
def test_aggregation(monkeypatch):
    import aggregation

    monkeypatch.setattr(aggregation, "REPEATS", 1)
    monkeypatch.setattr(aggregation, "checked_out", lambda revision: nullcontext(ROOT / "src"))
    results = aggregation.measure((3,), points=10, jobs=("aggregate", "table"), before="HEAD")
    assert [(result.job, result.code) for result in results] == [
        ("aggregate", "before"),
        ("aggregate", "now"),
        ("table", "before"),
        ("table", "now"),
    ]
    for result in results:
        assert result.usage.cpu_seconds > 0
        assert 0 < result.usage.largest <= result.usage.together
    assert not aggregation.differences(results)


@pytest.mark.slow
def test_all_jobs_of_the_aggregation_benchmark(monkeypatch):
    import aggregation

    monkeypatch.setattr(aggregation, "REPEATS", 1)
    results = aggregation.measure((3,), points=10)
    assert aggregation.as_table(results).count("\n") == 1 + len(aggregation.JOBS)


def test_a_failed_job_of_the_aggregation_benchmark_is_an_error():
    import aggregation

    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        aggregation.run(["-c", "1 / 0"], ROOT / "src")


@pytest.mark.slow
def test_packing(monkeypatch):
    import packing

    monkeypatch.setattr(packing, "STACKED", ((30, 3),))
    monkeypatch.setattr(packing, "MULTIPLIED", ((40, 35),))
    monkeypatch.setattr(packing, "ITERATIONS", 10)
    table = packing.as_table(packing.measure())
    assert "30 x 3" in table
    assert "40 x 35" in table


@pytest.mark.slow
def test_expectation(monkeypatch):
    import expectation

    monkeypatch.setattr(expectation, "POINTS", 100)
    monkeypatch.setattr(expectation, "SPREADS", (1.0,))
    assert expectation.as_table(expectation.measure()).count("\n") == 2


@pytest.mark.slow
def test_study(tmp_path):
    import study

    tiny = {"dataset": "synthetic", "options": {"n": 50, "d": 2}}
    settings = {"datasets": {"tiny": tiny}, "solvers": ["vn"], "step": 0.1, "iterations": 3}
    config = {"studies": {"s": {**settings, "figures": [], "tables": []}}}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    results = study.measure(config=tmp_path / "config.yaml")
    used = results["now"]
    assert {"prepare", "run", "aggregate", "page", "snakemake"} <= set(used.seconds)
    assert used.jobs["run"] == 1  # of five seeds
    assert all(seconds > 0 for seconds in used.seconds.values())
    assert f"| all | {sum(used.jobs.values())} | {used.total:.1f} |" in study.as_table(results)


@pytest.mark.slow
def test_peers(tmp_path, monkeypatch):
    """The curves of gvibench and of the plain loop agree; benchopt is not installed here."""
    import peers

    monkeypatch.setitem(peers.PROBLEM, "iterations", 5)
    monkeypatch.setitem(peers.PROBLEM, "seeds", [0, 1])
    rows = peers._write_rows(tmp_path)
    folders = [tmp_path / name for name in ("plain", "gvibench")]
    for folder in folders:
        folder.mkdir()
    _, plain = peers._run_plain(folders[0], rows)
    _, ours = peers._run_gvibench(folders[1], outputs=False, cores=2)
    peers._check({peers.PLAIN: plain, peers.CURVES: ours})
    key = next(iter(ours))
    changed = {**ours, key: 1.00001 * ours[key]}
    with pytest.raises(RuntimeError, match="differs by"):
        peers._check({peers.PLAIN: plain, peers.CURVES: changed})
