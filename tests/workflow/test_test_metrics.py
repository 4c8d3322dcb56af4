"""Test that a study with thinned test metrics has the same results as one with all of them."""

import csv
import math

import pandas as pd
import pytest
from project import Project

from gvibench.spec.metrics import METRICS, TEST_METRICS
from gvibench.store.aggregates import open_aggregate

STUDY = {
    "datasets": {"synthetic": {"options": {"n": 60, "d": 3}}},
    "solvers": {"vn": {"step": 0.02}, "bw-gd": {"step": 1e-3}},
    "beta": 0.5,
    "iterations": 700,
    "tolerance": 1e-4,
    "seeds": 3,
    "figures": ["gap", "test", "test-time"],
    "tables": ["performance", "runs"],
}


@pytest.mark.slow
def test_thinning_changes_no_result(tmp_path):
    project = Project.create(tmp_path / "project", STUDY)
    studies = {"dense": {**STUDY, "test_every": 1}, "thinned": STUDY}
    project.configure_all(studies)
    project.snakemake()
    results = {name: project.folder / "results" / name for name in studies}
    curves = {}
    for name, folder in results.items():
        with open_aggregate(folder / "aggregate.zarr.zip") as dataset:
            curves[name] = dataset[list(METRICS)].load()
    for name in METRICS:
        dense, thinned = (curves[study][name].values for study in ("dense", "thinned"))
        evaluated = ~pd.isna(thinned)
        assert (thinned[evaluated] == dense[evaluated]).all()
        share = evaluated.sum() / (~pd.isna(dense)).sum()
        assert 0.1 < share < 0.5 if name in TEST_METRICS else share == 1
    for table in ("performance", "runs"):
        rows = [_rows(folder / f"tables/{table}.csv") for folder in results.values()]
        assert rows[0] == rows[1]
    for figure in ("test", "test-time"):
        dense, thinned = (
            pd.read_csv(folder / f"figures/{figure}.csv") for folder in results.values()
        )
        assert not thinned.isna().any(axis=None)
        assert set(thinned["quantity"]) == {"test NLL", "test accuracy"}
    columns = ["quantity", "line", "evaluations", "center", "low", "high"]
    dense, thinned = (
        pd.read_csv(folder / "figures/test.csv")[columns] for folder in results.values()
    )
    ends = thinned.groupby(["quantity", "line"])["evaluations"].max()
    assert ends.equals(dense.groupby(["quantity", "line"])["evaluations"].max())
    assert (results["thinned"] / "report/index.html").stat().st_size > 10_000


def _rows(path):
    """Return the rows of a table without times and names that differ between the studies."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    left_out = ("second", "hash", "path", "spec", "study", "test_every")
    kept = [
        {name: _number(text) for name, text in row.items() if not any(w in name for w in left_out)}
        for row in rows
    ]
    assert kept
    assert "test_nll" in str(kept[0])
    return kept


def _number(text):
    try:
        value = float(text)
    except ValueError:
        return text
    return "nan" if math.isnan(value) else value
