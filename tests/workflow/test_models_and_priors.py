"""Run studies with each kind of model to the report with Snakemake."""

import csv

import numpy as np
import pytest
from project import STUDY, Project


def write_counts(path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((80, 3))
    y = rng.poisson(np.exp(x @ [0.5, -0.3, 0.2] + 0.4))
    np.savez(path, X=x, y=y)


def rows_of(project, study):
    with (project.folder / f"results/{study}/tables/performance.csv").open() as stream:
        return list(csv.DictReader(stream))


def assert_complete(project, study, figures=("gap",)):
    results = project.folder / "results" / study
    outputs = ["summary.md", "report/index.html", "tables/performance.csv"]
    outputs += [f"figures/{figure}.{end}" for figure in figures for end in ("pdf", "png", "csv")]
    assert all((results / output).stat().st_size > 0 for output in outputs)


@pytest.mark.slow
def test_probit_and_poisson_reach_the_report(tmp_path):
    shared = {**STUDY, "step": "auto", "iterations": 60, "seeds": 2}
    shared["solvers"] = ["vn", "laplace"]
    studies = {
        "probit": {**shared, "model": "probit"},
        "nodes": {**shared, "model": "probit", "expectation": "gauss-hermite", "nodes": 8},
        "poisson": {**shared, "model": "poisson", "datasets": {"mine": {"path": "counts.npz"}}},
    }
    project = Project.create(tmp_path / "project", STUDY)
    write_counts(project.folder / "counts.npz")
    project.configure_all(studies)
    project.snakemake()
    for name in studies:
        assert_complete(project, name)
        rows = rows_of(project, name)
        gaps = [float(row["gap_max"]) for row in rows if row["solver"] == "vn"]
        assert gaps
        assert all(abs(gap) < 1e-8 for gap in gaps)
        undefined = {row["test_accuracy_median"] == "undefined" for row in rows}
        assert undefined == {name == "poisson"}
    assert project.executed() == set()


@pytest.mark.slow
def test_priors_reach_the_report(tmp_path):
    data = {"dataset": "synthetic", "options": {"n": 60, "d": 3}, "intercept": True}
    shared = {
        **STUDY,
        "step": "auto",
        "iterations": 60,
        "tables": ["performance", "datasets", "runs"],
    }
    shared |= {"datasets": {"first": data}, "solvers": {"vn": {}, "gd-chol": {}}, "beta": 0.5}
    weak = {"precision": {"intercept": 0.01}}
    studies = {
        "weak": {**shared, "prior": weak},
        "flat": {**shared, "prior": {"precision": {"intercept": 0.0}}},
        "levels": {
            **shared,
            "datasets": {"first": {**data, "prior": {"precision": [1.0, 2.0, 3.0, 0.1]}}},
            "solvers": {"vn": {"prior": {"mean": 0.5}}, "VN-tuned": {"solver": "vn"}},
            "step": "tuned",
            "tuning": {"rounds": 1, "init_scales": [0.3], "seeds": [1000], "rows": 30},
        },
        "vary": {**shared, "solvers": ["vn"], "vary": {"prior": [weak, {"mean": {"x1": 1.0}}]}},
    }
    project = Project.create(tmp_path / "project", STUDY)
    project.configure_all(studies)
    project.snakemake()
    for name in studies:
        assert_complete(project, name)
        rows = rows_of(project, name)
        undefined = {row["neg_elbo_median"] == "undefined" for row in rows}
        assert undefined == {name == "flat"}
        if name in {"weak", "flat", "vary"}:
            assert all(abs(float(row["gap_max"])) < 1e-8 for row in rows if row["solver"] == "vn")
    facts = (project.folder / "results/weak/tables/datasets.md").read_text()
    assert "0.5 (prior precision intercept: 0.01)" in facts
    # A weaker prior lets the intercept move, so that the problems have different optima.
    optima = {row["objective_min"] for name in ("weak", "flat") for row in rows_of(project, name)}
    assert len({f"{float(value):.6f}" for value in optima}) == 2
    assert project.executed() == set()
