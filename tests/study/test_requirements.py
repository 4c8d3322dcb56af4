"""Test that the plan rejects figures and tables that a study cannot produce."""

import pytest
from study_config import jobs

from gvibench import registry
from gvibench.analysis.theory_checks import CLAIMS
from gvibench.errors import UserError
from gvibench.spec.scoring import SCORE_FIGURES, SCORE_TABLES
from gvibench.study.requirements import FIGURES, TABLES, THEOREM_SOLVERS

PLANE = {
    "datasets": {"plane": {"dataset": "synthetic", "options": {"n": 40, "d": 2}}},
    "model": "linear",
    "record": ["covariance_factor_path"],
}
BOUND = {"expectation": "piecewise", "record": ["objective_exact"]}
CONSTANTS = {"solvers": ["sr-vn"], "record": ["cov_eig_min", "factor_norm"]}
PAPER = {"datasets": ["australian_scale"], "step": "paper"}

THIN = {"datasets": {"thin": {"dataset": "synthetic", "options": {"n": 20, "d": 40}}}}
WIDE = {
    "datasets": {"wide": {"dataset": "synthetic", "options": {"n": 2000, "d": 600}}},
    "solvers": ["laplace"],
}

POSSIBLE = {
    ("figures", "path"): PLANE,
    ("figures", "bias"): BOUND,
    ("figures", "temperature"): {"vary": {"gamma": [0.5, 1.0]}},
    ("figures", "sensitivity"): {"step": [0.1, 0.2]},
    ("figures", "heatmap"): {"init_scale": [0.1, 1.0]},
    ("figures", "runtime"): {},
    ("figures", "theory"): CONSTANTS,
    ("tables", "paper"): PAPER,
    ("tables", "runtime"): {},
    ("tables", "theory"): {**CONSTANTS, "solvers": ["vn"]},
    ("figures", "calibration"): {},
    ("figures", "test"): {},
    ("figures", "test-time"): {},
    ("tables", "quality"): {},
    ("tables", "truth"): {},
    **{("figures", name): {} for name in SCORE_FIGURES},
    **{("tables", name): {} for name in SCORE_TABLES},
}

UNTESTED = {"datasets": {"untested": {"dataset": "synthetic", "split": "none"}}}

IMPOSSIBLE = [
    ("figures", "test", UNTESTED, "test rows"),
    ("figures", "test-time", UNTESTED, "test rows"),
    ("figures", "calibration", UNTESTED, "test rows"),
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
    ("figures", "temperature", {}, "two or more temperatures"),
    ("figures", "sensitivity", {"step": "tuned"}, "two or more steps"),
    ("figures", "heatmap", {}, "two or more set steps or initial scales"),
    ("figures", "runtime", {"iterations": 0}, "at least one iteration"),
    ("figures", "theory", {**CONSTANTS, "solvers": ["vn"]}, "a solver with a convergence theorem"),
    ("figures", "theory", {"solvers": ["sr-vn"]}, "record: [cov_eig_min, factor_norm]"),
    ("tables", "theory", {**CONSTANTS, "gamma": 0.5}, "runs with gamma 1"),
    ("tables", "theory", {**CONSTANTS, "expectation": "piecewise"}, "expectation 'exact'"),
    ("tables", "theory", {**CONSTANTS, "model": "non-convex"}, "a convex model"),
    ("tables", "theory", {**CONSTANTS, "gap": "best-seen"}, "set gap: optimum"),
    ("tables", "runtime", {"iterations": 0}, "at least one iteration"),
    ("tables", "paper", {}, "of the paper's performance table"),
    ("tables", "paper", {**PAPER, "solvers": ["gd"], "step": 0.1}, "of the paper's"),
    ("tables", "paper", {**PAPER, "gap": "best-seen"}, "set gap: optimum"),
    ("tables", "quality", {"gamma": 0.0}, "gamma above 0"),
    ("tables", "quality", {"gap": "best-seen"}, "laplace, advi, bam or gsm"),
    ("tables", "quality", {"model": "non-convex"}, "use a convex model"),
    ("tables", "quality", {"beta": 0.0}, "beta above 0"),
    ("tables", "quality", {"solvers": ["bam"], "snapshots": 0}, "set snapshots above 0"),
    ("tables", "quality", WIDE, "set record: [covariance_factor]"),
    ("tables", "quality", THIN, "at most as many features as rows"),
    ("figures", "calibration", PLANE, "a model of two classes"),
    ("figures", "calibration", {"gamma": 0.0}, "gamma above 0"),
    ("tables", "truth", {"gamma": 0.5}, "runs with gamma 1"),
    ("tables", "truth", {"gap": "best-seen"}, "a Gaussian to measure"),
    ("tables", "truth", {"beta": 0.7}, "a true posterior: set 'truth: draws.npz'"),
    ("tables", "truth", {"datasets": ["diabetes_scale"]}, "a true posterior"),
    *(("figures", name, {"gap": "best-seen"}, "set gap: optimum") for name in SCORE_FIGURES),
    *(("tables", name, {"gap": "best-seen"}, "set gap: optimum") for name in SCORE_TABLES),
    ("tables", "scores", {"beta": 0.0}, "beta above 0"),
    ("tables", "beats", {"model": "non-convex"}, "use a convex model"),
]


def test_each_requirement_has_a_study_that_meets_it():
    assert {name for kind, name in POSSIBLE if kind == "figures"} == set(FIGURES)
    assert {name for kind, name in POSSIBLE if kind == "tables"} == set(TABLES)
    assert set(FIGURES) <= set(registry.FIGURES.built_in)
    assert set(TABLES) <= set(registry.TABLES.built_in)
    assert set(THEOREM_SOLVERS) == set(CLAIMS)


@pytest.mark.parametrize(("kind", "name"), POSSIBLE)
def test_possible_outputs_are_planned(kind, name):
    assert jobs(**POSSIBLE[kind, name], **{kind: [name]}).runs


@pytest.mark.parametrize(("kind", "name", "study", "sentence"), IMPOSSIBLE)
def test_impossible_outputs_are_an_error(kind, name, study, sentence):
    with pytest.raises(UserError) as caught:
        jobs(**study, **{kind: [name]})
    assert f"studies.s: the {kind[:-1]} '{name}' needs " in str(caught.value)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
