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
