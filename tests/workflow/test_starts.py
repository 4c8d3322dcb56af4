"""Run a study with named starts, tuned and untuned, to its scores and its report."""

import csv

import pytest
from project import Project

from gvibench.store.traces import read_traces
from matrix.recompute import check_performance, check_summary

STUDY = {
    "datasets": ["haberman"],
    "solvers": {"vn": {"step": "tuned"}, "sr-vn": {"step": "auto"}},
    "expectation": "exact",
    "starts": {
        "zero": {"mean_scale": 0.0, "init_scale": 1.0},
        "prior": {"mean_scale": 0.0, "init_scale": "prior"},
    },
    "iterations": 30,
    "seeds": 1,
    "cost": "data_passes",
    "tuning": {
        **{"search": "quasi-random", "trials": 3, "iterations": 20, "seeds": [1000]},
        **{"rows": "held-out", "prefer": "quick"},
    },
    "figures": ["score-ecdf"],
    "tables": ["scores", "performance"],
}


@pytest.mark.slow
def test_starts_are_instances_of_tuned_and_untuned_solvers(tmp_path, monkeypatch):
    project = Project.create(tmp_path / "project", STUDY)
    project.snakemake()
    results = project.folder / "results/s"
    assert (results / "report/index.html").stat().st_size > 0
    summary = (results / "summary.md").read_text()
    assert "4 runs, 2 problems, 2 solvers" in summary
    assert "- Problems: “haberman, start prior”, “haberman, start zero”" in summary
    assert "- Solvers: SR-VN, VN\n" in summary
    with (results / "tables/scores.csv").open() as stream:
        rows = {row["entry"]: row for row in csv.DictReader(stream)}
    assert {row["instances"] for row in rows.values()} == {"2"}
    assert {row["missing"] for row in rows.values()} == {"0"}
    assert float(rows["VN"]["tuning_cost"]) > 0 == float(rows["SR-VN"]["tuning_cost"])
    for solver, files in {"vn": 2, "sr-vn": 1}.items():  # starts of short runs share a job
        paths = list(results.glob(f"runs/haberman/{solver}/*/*.zarr.zip"))
        assert len(paths) == files
        traces = [trace for path in paths for trace in read_traces(path)]
        # The prior precision of haberman is 0.01.
        assert sorted(trace.spec["init_scale"] for trace in traces) == [1.0, 10.0]
    monkeypatch.chdir(project.folder)  # the paths of the manifest are relative to it
    assert check_performance("results", "s") > 0
    assert check_summary("results", "s") > 0
    assert project.executed() == set()
