"""Run each model with each solver and each expectation from a CSV file to the report."""

import csv

import numpy as np
import pytest
from project import STUDY, Project

from gvibench.errors import UserError
from gvibench.registry import MODELS, SOLVERS
from gvibench.study.config import load_config
from gvibench.study.expand import expand

EXPECTATIONS = ("exact", "piecewise", "gauss-hermite", "stochastic")
SAMPLERS = {"advi", "bam", "gsm"}
"""Solvers that need draws from q."""
EXACT_ONLY = {"laplace"}
"""Solvers without a stochastic form."""
NEED_A_POSTERIOR_OR_SYMMETRY = {"laplace", "bam", "gsm", "sr-vn-rotated"}
"""Solvers for which a penalty on the mean of q is not defined."""
STEPS = {"advi": 1e-3, "svgd-density": 1e-3, "gd": 1e-4, "ng-flow": 0.01}
FILE = {"path": "rows.csv", "target": "outcome"}


def write_rows(path, kind):
    rng = np.random.default_rng(5)
    age, job = rng.standard_normal(60), rng.choice(["clerk", "nurse", "pilot"], 60)
    score = 0.8 * age + (job == "nurse") - 0.3
    if kind == "classes":
        outcome = np.where(rng.random(60) < 1 / (1 + np.exp(-score)), "yes", "no")
    elif kind == "counts":
        outcome = rng.poisson(np.exp(score))
    else:
        outcome = score + 0.5 * rng.standard_normal(60)
    with path.open("w", newline="") as stream:
        table = csv.writer(stream, delimiter=";")
        table.writerow(["age", "job", "outcome"])
        table.writerows(zip(age, job, outcome, strict=True))


def study_of(model, entries):
    # Runs with different expectations are compared by their exact objective.
    approximate = set(MODELS.load(model).expectations) & {"piecewise", "gauss-hermite"}
    return {
        "model": model,
        "record": ["objective_exact"] if approximate else [],
        "datasets": {"mine": FILE},
        "solvers": entries,
        "iterations": 3,
        "init_scale": 0.1,
        "mean_scale": 0.1,
        "seeds": 1,
        "device": "cpu",
        "figures": ["gap"],
        "tables": ["performance"],
    }


def entry_of(solver, expectation):
    entry = {"solver": solver, "expectation": expectation}
    if expectation == "stochastic" and solver not in {"bam", "gsm"}:  # they use all rows
        entry |= {"step": 1e-3, "batch": 20, "samples": 4}
    if solver in STEPS:
        entry["step"] = STEPS[solver]
    return entry


def is_supported(model, solver, expectation):
    """Return whether the plan accepts a combination; if not, check that it says so shortly."""
    study = study_of(model, {"one": entry_of(solver, expectation)})
    message = ""
    try:
        expand(load_config({"studies": {"s": study}}))
    except UserError as error:
        message = str(error)
    assert "\n" not in message
    return not message


def expected_to_work(model, solver, expectation):
    if expectation not in MODELS.load(model).expectations:
        return False
    if model == "non-convex" and solver in NEED_A_POSTERIOR_OR_SYMMETRY:
        return False
    if expectation == "stochastic":
        return solver not in EXACT_ONLY
    return solver not in SAMPLERS


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        model if model == "poisson" else pytest.param(model, marks=pytest.mark.exhaustive)
        for model in MODELS.built_in
    ],
)
def test_model_with_each_solver_and_expectation(tmp_path, monkeypatch, model):
    project = Project.create(tmp_path / "project", STUDY)
    monkeypatch.chdir(project.folder)
    write_rows(project.folder / "rows.csv", MODELS.load(model).targets[0])
    entries = {}
    for solver in SOLVERS.built_in:
        for expectation in EXPECTATIONS:
            works = is_supported(model, solver, expectation)
            assert works == expected_to_work(model, solver, expectation), (solver, expectation)
            if works:
                entries[f"{solver}-{expectation}"] = entry_of(solver, expectation)
    project.configure(study_of(model, entries))
    project.snakemake()
    results = project.folder / "results/s"
    with (results / "tables/performance.csv").open() as stream:
        rows = {row["solver"]: row for row in csv.DictReader(stream)}
    assert rows.keys() == entries.keys()
    for name, row in rows.items():
        assert np.isfinite(float(row["objective_median"])), name
    assert (results / "report/index.html").stat().st_size > 0
    assert (results / "summary.md").stat().st_size > 0
    assert project.executed() == set()
