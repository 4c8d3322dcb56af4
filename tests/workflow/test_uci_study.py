"""Run a study of bundled UCI data sets to the report: classes and counts, with the defaults."""

import csv

import pytest
from project import Project

from gvibench.store.certified import certified_optimum
from gvibench.store.optima import read_optimum

MODELS = {"sonar": "logistic", "bike-day": "poisson"}
STUDY = {
    "datasets": {"sonar": {}, "bike-day": {"model": "poisson", "init_scale": 0.1}},
    "solvers": ["vn", "laplace"],
    "device": "cpu",
    "expectation": "exact",
    "step": "auto",
    "iterations": 60,
    "seeds": 2,
    "figures": ["gap"],
    "tables": ["performance", "datasets"],
}


@pytest.mark.slow
def test_classes_and_counts_reach_the_report(tmp_path):
    project = Project.create(tmp_path / "project", STUDY)
    project.snakemake()
    results = project.folder / "results/s"
    for output in ("summary.md", "report/index.html", "figures/gap.pdf", "tables/datasets.md"):
        assert (results / output).stat().st_size > 0
    with (results / "tables/performance.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    for dataset in MODELS:
        [gap] = [
            float(row["gap_max"])
            for row in rows
            if row["dataset"] == dataset and row["solver"] == "vn"
        ]
        assert abs(gap) < 1e-8
    optima = [read_optimum(project.folder / path) for path in project.plan().optima]
    found = {certified_optimum_of(optimum).dataset for optimum in optima}
    assert found == set(MODELS)
    assert project.executed() == set()


def certified_optimum_of(optimum):
    """Return the shipped optimum of the same problem, after comparing the values."""
    attrs = optimum.attrs
    [known] = [
        known
        for known in map(certified_optimum, MODELS, MODELS.values())
        if known.spec_hash == attrs["spec_hash"]
    ]
    assert attrs["objective"] == pytest.approx(known.objective, rel=1e-13, abs=1e-9)
    assert attrs["certificate"] < 1e-9
    return known
