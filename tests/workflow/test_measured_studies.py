"""Run studies with measures of Gaussians to the report with Snakemake."""

import csv
import json
import re

import numpy as np
import pytest
import xarray as xr
from project import STUDY, Project

MEASURED = {
    **STUDY,
    "datasets": {
        "wdbc": {},
        "own": {"dataset": "synthetic", "options": {"n": 60, "d": 3}, "truth": "draws.npz"},
    },
    "solvers": {"vn": {}, "laplace": {}, "bam": {}},
    "step": "auto",
    "beta": 0.1,
    "seeds": 2,
    "figures": ["calibration"],
    "tables": ["quality", "truth"],
}
LINEAR = {
    **MEASURED,
    "model": "linear",
    "datasets": {"lines": {"dataset": "synthetic", "options": {"n": 60, "d": 3}}},
    "figures": [],
}


def rows(project, table, study="s"):
    text = (project.folder / f"results/{study}/tables/{table}.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    project = Project.create(tmp_path_factory.mktemp("measures") / "project", STUDY)
    draws = np.random.default_rng(0).standard_normal((2, 400, 3))
    np.savez(project.folder / "draws.npz", draws=draws)
    project.configure_all({"s": MEASURED, "lines": LINEAR})
    project.snakemake()
    return project


@pytest.mark.slow
def test_quality_reaches_the_report(finished):
    found = rows(finished, "quality")
    labels = [(row["problem"], row["gaussian"]) for row in found]
    gaussians = ("optimum", "Laplace", "BaM")
    assert set(labels) == {(name, label) for name in ("wdbc", "own") for label in gaussians}
    assert len(labels) == 6
    assert labels[0][1] == labels[3][1] == "optimum"
    for row in found:
        assert 0 < float(row["pred_nll_median"]) < 1
        assert 0.5 < float(row["auc_median"]) <= 1
        assert float(row["evidence_gap_median"]) > -4 * float(row["log_evidence_error_median"])
        assert row["reading"] in {"good", "usable", "unreliable"} or "," in row["reading"]
        assert row["note"] == ""
        is_optimum = row["gaussian"] == "optimum"
        assert (float(row["kl_median"]) < 1e-9) == is_optimum
        assert row["gaussians"] == ("1" if is_optimum else "2")
    results = finished.folder / "results/s"
    for end in ("pdf", "svg", "png", "csv"):
        assert (results / f"figures/calibration.{end}").stat().st_size > 0
    assert "error" not in json.loads((results / "figures/calibration.json").read_text())
    bins = list(csv.DictReader((results / "figures/calibration.csv").read_text().splitlines()))
    assert {row["panel"] for row in bins} == {"wdbc", "own"}
    assert sum(float(r["count"]) for r in bins if r["panel"] == "wdbc") == 3 * 114
    summary = (results / "summary.md").read_text()
    assert "## Quality of the posteriors" in summary
    assert "Failed figures and tables" not in summary
    page = (results / "report/index.html").read_text()
    assert "Fit to the posterior" in page
    assert "Gaussians compared with the true posterior" in page
    with xr.open_dataset(results / "aggregate.zarr.zip") as dataset:
        assert dataset.sizes["gaussian"] == 2 * (1 + 2 * 2)
        assert dataset["measure_bin_count"].dims == ("gaussian", "bin")


@pytest.mark.slow
def test_truth_reaches_the_report(finished):
    found = {(row["problem"], row["gaussian"]): row for row in rows(finished, "truth")}
    best, laplace = found["wdbc", "optimum"], found["wdbc", "Laplace"]
    assert best["truth"].startswith("NUTS")
    assert float(best["mean_error_max_median"]) < 0.1 < float(laplace["mean_error_max_median"])
    assert re.fullmatch(r"x\d+", best["worst"])
    assert found["own", "optimum"]["truth"] == "800 draws of draws.npz"
    (exact, *_) = rows(finished, "truth", "lines")
    assert exact["truth"] == "exact posterior of linear regression"
    assert float(exact["mean_error_max_median"]) < 1e-8
    assert float(exact["sd_ratio_min_median"]) == pytest.approx(1, abs=1e-8)
    linear = rows(finished, "quality", "lines")[0]
    assert "not classes" in linear["note"]
    assert linear["auc_median"] == ""
    assert float(linear["evidence_gap_median"]) == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
def test_new_draws_repeat_the_measures_that_use_them(finished, tmp_path):
    project = finished.copy(tmp_path / "copy")
    assert project.executed() == set()
    draws = np.random.default_rng(1).standard_normal((500, 3))
    np.savez(project.folder / "draws.npz", draws=draws)
    executed = {path for path in project.executed() if "/measures/" in path}
    assert executed == {path for path in project.outputs() if "/s/measures/own/" in path}
    np.savez(project.folder / "draws.npz", draws=draws[:, :2])
    failed = project.snakemake(check=False)
    assert failed.returncode != 0
    logs = [path.read_text() for path in project.folder.glob("results/s/logs/measures/**/*.log")]
    assert any("have 2 features, but the problem has 3" in text for text in logs)


def test_plan_rejects_missing_draws(tmp_path):
    project = Project.create(tmp_path / "project", MEASURED)
    done = project.gvibench("plan", "config/config.yaml")
    assert done.returncode != 0
    assert "draws.npz does not exist: correct 'truth'" in done.stderr
    assert "measures" not in done.stdout
