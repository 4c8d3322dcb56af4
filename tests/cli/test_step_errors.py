"""Test that invalid steps are rejected before anything runs, with one sentence and exit code 2."""

import pytest
import yaml

from gvibench.cli.main import main

STUDY = {"datasets": ["synthetic"], "solvers": ["vn"], "iterations": 5, "seeds": 1}
STOCHASTIC = {"expectation": "stochastic"}
INVALID = {
    "unknown rule": ({"step": "steepest"}, "'steepest'"),
    "unknown rule with settings": ({"step": {"rule": "steepest", "step": 0.1}}, "'steepest'"),
    "unknown setting": ({"step": {"rule": "auto", "shrinc": 0.3}}, "did you mean 'shrink'?"),
    "setting out of range": ({"step": {"rule": "auto", "grow": 0.5}}, "'grow' should be"),
    "missing setting": ({"step": {"rule": "decay", "step": 0.1}}, "'decay' is missing"),
    "rule without its step": ({"step": "constant"}, "step rule 'constant' needs 'step'"),
    "several first steps": ({"step": {"rule": "auto", "step": [0.1, 1.0]}}, "a number"),
    "zero": ({"step": 0.0}, "greater than 0"),
    "negative": ({"step": -0.1}, "greater than 0"),
    "not a number": ({"step": float("nan")}, "step"),
    "infinite": ({"step": float("inf")}, "step"),
    "search with random expectations": (
        {"step": "auto", **STOCHASTIC},
        "step rule 'auto' needs expectations that are not random, unlike 'stochastic'",
    ),
    "no step with random expectations": (STOCHASTIC, "'step' is missing"),
    "search of a solver without a slope": (
        {"solvers": ["ng-flow"], "step": "auto"},
        "solver 'ng-flow' does not support step rule 'auto'",
    ),
    "no step for a solver without a slope": ({"solvers": ["ng-flow"]}, "'step' is missing"),
    "rule for solvers without a step": ({"step": "none"}, "solver 'vn' needs a step size"),
    "step of a solver without one": (
        {"solvers": {"laplace": {"step": 0.1}}},
        "solver 'laplace' has no step size: leave out 'step'",
    ),
    "random laplace": (
        {"solvers": ["laplace"], **STOCHASTIC},
        "solver 'laplace' uses all rows",
    ),
    "laplace on a non-convex model": (
        {"solvers": ["laplace"], "model": "non-convex"},
        "solver 'laplace' needs a convex model",
    ),
    "deterministic bam": (
        {"solvers": ["bam"], "expectation": "exact"},
        "solver 'bam' uses draws from q: set expectation to 'stochastic'",
    ),
    "minibatches of gsm": (
        {"solvers": ["gsm"], "batch": 10},
        "solver 'gsm' is biased by minibatches: set batch to 'all'",
    ),
    "deterministic advi": (
        {"solvers": ["advi"], "step": 0.01, "expectation": "exact"},
        "solver 'advi' needs expectation 'stochastic'",
    ),
    "removed setting": ({"step": 0.1, "step_decay": 0.1}, "unknown key 'studies.s.step_decay'"),
    "rule in vary": (
        {"vary": {"step_rule": ["auto", "decay"]}},
        "set 'step' of a solver instead of 'step_rule'",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_the_plan_rejects_invalid_steps(name, tmp_path, capsys):
    changes, message = INVALID[name]
    config = tmp_path / "c.yaml"
    config.write_text(yaml.safe_dump({"studies": {"s": {**STUDY, **changes}}}))
    assert main(["plan", str(config)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert "Traceback" not in error


RUN = ["run", "--dataset", "synthetic", "--iterations", "2"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--solver", "vn", "--step", "steepest"], "'steepest'"),
        (["--solver", "vn", "--step", "nan"], "step"),
        (["--solver", "vn", "--step", "tuned"], "should be one number or a step rule"),
        (["--solver", "vn", "--step-rule", "decay", "--step", "0.1"], "'decay' is missing"),
        (["--solver", "ng-flow", "--step", "auto"], "does not support step rule 'auto'"),
        (["--solver", "advi"], "'step' is missing"),
        (["--solver", "laplace", "--step", "0.1"], "has no step size"),
        (["--solver", "bam", "--expectation", "exact"], "set expectation to 'stochastic'"),
        (["--solver", "gsm", "--batch", "5"], "set batch to 'all'"),
        (["--solver", "vn", "--step", "paper"], "the paper has no step"),
    ],
)
def test_a_run_rejects_invalid_steps(words, message, tmp_path, capsys):
    out = tmp_path / "t.zarr.zip"
    assert main([*RUN, *words, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize("solver", ["vn", "laplace", "bam", "gsm"])
def test_a_run_needs_no_step(solver, tmp_path):
    assert main([*RUN, "--solver", solver, "--out", str(tmp_path / "t.zarr.zip")]) == 0


def test_solvers_without_a_step_ignore_that_of_the_study(tmp_path):
    config = tmp_path / "c.yaml"
    study = {**STUDY, "solvers": ["vn", "laplace", "bam"], "step": [0.1, 0.2]}
    config.write_text(yaml.safe_dump({"studies": {"s": study}}))
    assert main(["plan", str(config)]) == 0
