"""Figures and tables that a study cannot give are refused by its plan, not by their jobs."""

import pytest

from gvibench import figures, tables
from gvibench.analysis.theory_checks import CLAIMS
from gvibench.errors import UserError
from gvibench.study.requirements import CLAIMED, FIGURES, TABLES
from test_study import jobs

PLANE = {
    "datasets": {"plane": {"dataset": "synthetic", "options": {"n": 40, "d": 2}}},
    "model": "linear",
    "record": ["covariance_factor_path"],
}
BOUND = {"expectation": "piecewise", "record": ["objective_exact"]}
CONSTANTS = {"solvers": ["sr-vn"], "record": ["cov_eig_min", "factor_norm"]}
PAPER = {"datasets": ["australian_scale"], "step": "paper"}

POSSIBLE = {
    ("figures", "path"): PLANE,
    ("figures", "bias"): BOUND,
    ("figures", "temperature"): {"vary": {"gamma": [0.5, 1.0]}},
    ("figures", "sensitivity"): {"step": [0.1, 0.2]},
    ("figures", "runtime"): {},
    ("figures", "theory"): CONSTANTS,
    ("tables", "paper"): PAPER,
    ("tables", "runtime"): {},
    ("tables", "theory"): {**CONSTANTS, "solvers": ["vn"]},
}

IMPOSSIBLE = [
    ("figures", "path", {}, "model 'linear' in all runs"),
    ("figures", "path", {**PLANE, "record": []}, "record: [covariance_factor_path]"),
    ("figures", "path", {**PLANE, "snapshots": 0}, "snapshots above 0"),
    ("figures", "path", {**PLANE, "datasets": ["wdbc"]}, "two features"),
    ("figures", "path", {**PLANE, "gap": "best-seen"}, "set gap: optimum"),
    ("figures", "path", {**PLANE, "gamma": 0.0}, "gamma above 0"),
    ("figures", "path", {**PLANE, "beta": 0.0}, "beta and gamma above 0"),
    ("figures", "bias", {}, "runs with expectation 'piecewise'"),
    ("figures", "bias", {"expectation": "piecewise"}, "record: [objective_exact]"),
    ("figures", "bias", {**BOUND, "gap": "best-seen"}, "set gap: optimum"),
    ("figures", "bias", {**BOUND, "model": "non-convex"}, "a convex model"),
    ("figures", "temperature", {}, "two temperatures or more"),
    ("figures", "sensitivity", {"step": "tuned"}, "two steps or more"),
    ("figures", "runtime", {"iterations": 0}, "at least one iteration"),
    ("figures", "theory", {**CONSTANTS, "solvers": ["vn"]}, "a solver that a theorem is about"),
    ("figures", "theory", {"solvers": ["sr-vn"]}, "record: [cov_eig_min, factor_norm]"),
    ("tables", "theory", {**CONSTANTS, "gamma": 0.5}, "runs with gamma 1"),
    ("tables", "theory", {**CONSTANTS, "expectation": "piecewise"}, "expectation 'exact'"),
    ("tables", "theory", {**CONSTANTS, "model": "non-convex"}, "a convex model"),
    ("tables", "theory", {**CONSTANTS, "gap": "best-seen"}, "set gap: optimum"),
    ("tables", "runtime", {"iterations": 0}, "at least one iteration"),
    ("tables", "paper", {}, "of the paper's performance table"),
    ("tables", "paper", {**PAPER, "solvers": ["gd"], "step": 0.1}, "of the paper's"),
    ("tables", "paper", {**PAPER, "gap": "best-seen"}, "set gap: optimum"),
]


def test_every_requirement_has_a_study_that_meets_it():
    assert {name for kind, name in POSSIBLE if kind == "figures"} == set(FIGURES)
    assert {name for kind, name in POSSIBLE if kind == "tables"} == set(TABLES)
    assert set(FIGURES) <= set(figures.MODULES)
    assert set(TABLES) <= set(tables.MODULES)
    assert set(CLAIMED) == set(CLAIMS)


@pytest.mark.parametrize(("kind", "name"), POSSIBLE)
def test_what_can_be_made_is_planned(kind, name):
    assert jobs(**POSSIBLE[kind, name], **{kind: [name]}).runs


@pytest.mark.parametrize(("kind", "name", "study", "sentence"), IMPOSSIBLE)
def test_what_cannot_be_made_is_refused(kind, name, study, sentence):
    with pytest.raises(UserError) as caught:
        jobs(**study, **{kind: [name]})
    assert f"studies.s: the {kind[:-1]} '{name}' needs " in str(caught.value)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
