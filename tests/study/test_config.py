import math
import re

import pytest
import yaml
from study_config import jobs, specs, study

from gvibench.errors import UserError
from gvibench.study.config import LogGrid, load_config, read_config
from gvibench.study.expand import expand


def test_a_logarithmic_grid_has_round_values():
    grid = LogGrid(start=1e-3, stop=1.0, count=4)
    assert grid.values() == [0.001, 0.01, 0.1, 1.0]
    assert len(specs(step={"start": 0.001, "stop": 1.0, "count": 7}, seeds=1)) == 7


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"stepp": 1}, "config: unknown key 'studies.s.stepp' (did you mean 'step'?)"),
        ({"steps": 1}, "unknown key 'studies.s.steps' (did you mean 'step'?)"),
        ({"tuning": {"step": 1}}, "unknown key 'studies.s.tuning.step' (did you mean 'steps'?)"),
        ({"tolerance": "1e-3"}, "'studies.s.tolerance' is text in YAML"),
        (
            {"step": {"start": 1.0, "stop": 0.1, "count": 3}},
            "'start' 1 should be less than 'stop' 0.1",
        ),
        ({"step": "1e-3"}, "'studies.s.step' is text in YAML: write 1.0e-3"),
        ({"beta": "1e-3"}, "'studies.s.beta' is text in YAML"),
        ({"step": []}, "'studies.s.step' list should have at least 1 item, not 0, got []"),
        ({"step": [0.1, -1.0]}, "'studies.s.step.1' should be greater than 0, got -1.0"),
        ({"step": [0.1, 0.1]}, "'studies.s.step' contains 0.1 twice"),
        ({"step": "papr"}, "got 'papr' (did you mean 'paper'?)"),
        ({"step": {"start": 0.1, "stop": 1.0, "count": 1}}, "'studies.s.step.count' should be"),
        ({"seeds": [1, 1]}, "'studies.s.seeds' contains 1 twice, got [1, 1]"),
        ({"seeds": 0}, "'studies.s.seeds' should be greater than or equal to 1, got 0"),
        ({"datasets": ["wdbcc"]}, "unknown data set 'wdbcc' (did you mean 'wdbc'?)"),
        ({"datasets": []}, "at least 1 item, not 0 (at studies.s.datasets)"),
        ({"datasets": ["wdbc", "wdbc"]}, "contains wdbc twice"),
        ({"solvers": ["sr-vm"]}, "unknown solver 'sr-vm' (did you mean 'sr-vn'?)"),
        (
            {"solvers": {"svgd-density": {"options": {"kernl": 1}}}},
            "unknown key 'kernl' (did you mean 'kernel'?)",
        ),
        ({"datasets": {"wdbc": {"splitt": 1}}}, "(did you mean 'split'?)"),
        ({"datasets": {"wdbc": {"solvers": {"vm": {}}}}}, "'vm' is not a solver of the study"),
        ({"vary": {"gama": [1.0]}}, "unknown field 'gama' (did you mean 'gamma'?)"),
        ({"vary": {"seed": [1]}}, "set 'seed' directly in the study"),
        ({"vary": {"gamma": [-1.0]}}, "'gamma' should be greater than or equal to 0"),
        ({"step": "paper"}, "the paper has no step for 'vn' on 'wdbc'"),
        ({"step": None, "solvers": ["ng-flow"]}, "'step' is missing"),
        ({"step": "auto", "solvers": ["ng-flow"]}, "'ng-flow' does not support step rule 'auto'"),
        ({"step": "auto", "expectation": "stochastic"}, "needs expectations that are not random"),
        ({"step": None, "expectation": "stochastic"}, "'step' is missing"),
        ({"step": "aut"}, "(did you mean 'auto'?)"),
        ({"step": "none"}, "solver 'vn' needs a step size"),
        ({"step": {"rule": "aut"}}, "(did you mean 'auto'?)"),
        ({"step": {"rule": "auto", "shrink": 2.0}}, "'shrink' should be less than 1"),
        ({"step": {"rule": "auto", "shrunk": 0.5}}, "(did you mean 'shrink'?)"),
        ({"step": {"rule": "auto", "step": "tuned"}}, "chooses the step size itself"),
        ({"step": {"rule": "decay", "step": 0.1}}, "'decay' is missing"),
        ({"step": {"rule": "decay", "decay": 0.1}}, "step rule 'decay' needs 'step'"),
        ({"step": 0.0}, "'studies.s.step' should be greater than 0"),
        ({"step": -0.1}, "'studies.s.step' should be greater than 0"),
        ({"step": math.nan}, "'studies.s.step' should be a finite number"),
        ({"step": [0.1, "x"]}, "should be a valid number"),
        ({"step": "tuned", "seeds": [1000]}, "seed 1000 is used for tuning and for reporting"),
        ({"figures": ["gapp"]}, "(did you mean 'gap'?)"),
        ({"iterations": "100"}, "'studies.s.iterations' should be a valid integer, got '100'"),
    ],
)
def test_an_invalid_setting_is_an_error_in_one_sentence(changes, sentence):
    with pytest.raises(UserError) as caught:
        jobs(**changes)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "studies.s" in str(caught.value)


def test_invalid_files_are_errors(tmp_path):
    for text, sentence in (("a: [", "is not valid YAML"), ("- 1", "has no settings")):
        (tmp_path / "c.yaml").write_text(text)
        with pytest.raises(UserError, match=sentence):
            read_config(tmp_path / "c.yaml")
    with pytest.raises(UserError, match="cannot read"):
        read_config(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("1e-3", "1.0e-3"),
        ("1e3", "1.0e+3"),
        ("2.5E5", "2.5e+5"),
        ("100", "100.0 without quotes"),
        ("0.1", "0.1 without quotes"),
        ("1_000.5", "1000.5 without quotes"),
    ],
)
def test_the_message_suggests_a_valid_number(text, hint):
    with pytest.raises(UserError, match=f"write {re.escape(hint)}, got '{text}'"):
        jobs(step=text)
    assert isinstance(yaml.safe_load(hint.split()[0]), float)


def test_order_and_comments_do_not_matter():
    text = yaml.safe_dump(study(datasets=["wdbc", "synthetic"], beta=0.5, seeds=2))
    reordered = yaml.safe_dump(yaml.safe_load(text), sort_keys=True) + "# a comment\n"
    plan, reordered_plan = (expand(load_config(yaml.safe_load(t))) for t in (text, reordered))
    assert {path: job.params for path, job in plan.runs.items()} == {
        path: job.params for path, job in reordered_plan.runs.items()
    }
