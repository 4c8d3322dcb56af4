"""Test step rules of other packages: in runs, configs and reports, with settings and state."""

import json
import os
import signal
from typing import ClassVar

import numpy as np
import pytest
import yaml

from gvibench.cli.main import main
from gvibench.engine.checkpointing import stop_on_signals
from gvibench.engine.execute import execute
from gvibench.errors import Interrupted, UserError
from gvibench.plugin import Search, StepRule
from gvibench.registry import STEP_RULES
from gvibench.store.traces import read_trace
from gvibench.study.code_hash import run_hash
from gvibench.study.config import load_config
from gvibench.study.expand import expand
from problems import go, prepared, spec


class Growing(StepRule):
    """Multiply the step size by a factor at each iteration, up to a limit."""

    id: ClassVar[str] = "growing"

    factor: float = 1.5
    """Factor per iteration."""
    limit: float = 0.5
    """Largest step size."""

    def advance(self, solver, state, model):
        rho = self.step if state.search is None else state.search.step
        following = min(self.factor * rho, self.limit)
        return solver.step(state, model, rho)._replace(search=Search(following, 0.0))


@pytest.fixture(autouse=True)
def plugins(add_plugin):
    add_plugin("gvibench.step_rules", "growing", f"{__name__}:Growing")
    add_plugin("gvibench.step_rules", "auto", "elsewhere:Auto")
    add_plugin("gvibench.step_rules", "broken", "no.such.module:Rule")


GROWING = {"step_rule": "growing", "step": 0.1}


def test_the_rule_is_found_and_does_not_replace_a_built_in_one():
    assert STEP_RULES.load("growing") is Growing
    assert STEP_RULES.module_of("auto") == "gvibench.steps.auto"
    with pytest.raises(UserError, match="'broken' could not be loaded: No module named"):
        STEP_RULES.load("broken")


def test_a_run_uses_the_rule_and_its_settings():
    steps = go(**GROWING, step_options={"factor": 2.0}, iterations=5).scalars["step"]
    np.testing.assert_allclose(steps, [0.0, 0.1, 0.2, 0.4, 0.5, 0.5])


def test_a_stopped_run_resumes_bit_identically(tmp_path):
    def stop(iteration, recorder, seconds):
        if iteration == 4:
            os.kill(os.getpid(), signal.SIGTERM)

    run, checkpoint = spec(**GROWING, iterations=12), tmp_path / "checkpoint"
    with stop_on_signals(), pytest.raises(Interrupted):
        execute(run, prepared(), checkpoint=checkpoint, progress=stop)
    with stop_on_signals():  # forgets the signal
        resumed = execute(run, prepared(), checkpoint=checkpoint)
    whole = execute(run, prepared())
    for name in ("step", "objective", "evaluations"):
        assert np.array_equal(resumed.scalars[name], whole.scalars[name]), name


STUDY = {
    "datasets": {"synthetic": {"options": {"n": 40, "d": 2}}},
    "solvers": ["vn"],
    "iterations": 4,
    "seeds": 1,
}


def plan(step):
    return expand(load_config({"studies": {"s": {**STUDY, "step": step}}}))


def test_a_config_names_the_rule_with_its_settings():
    runs = plan({"rule": "growing", "step": [0.1, 0.2], "factor": 3.0}).runs
    specs = [json.loads(job.params)["spec"] for job in runs.values()]
    assert [run["step"] for run in specs] == [0.1, 0.2]
    for run, path in zip(specs, runs, strict=True):
        assert run["step_rule"] == "growing"
        assert run["step_options"] == {"factor": 3.0, "limit": 0.5}
        assert "growing-factor-3.0" in path
        assert "limit" not in path


def test_code_of_the_rule_is_part_of_the_code_of_a_run():
    rules = ({}, {"step_rule": "auto"}, {"step_rule": "growing"})
    assert len({run_hash(spec(**rule)) for rule in rules}) == 3


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("growing", "step rule 'growing' needs 'step'"),
        ({"rule": "growing", "step": 0.1, "factr": 2.0}, "did you mean 'factor'"),
        ({"rule": "growing", "step": 0.1, "factor": "big"}, "'factor' should be a valid number"),
        ({"rule": "broken", "step": 0.1}, "could not be loaded"),
    ],
)
def test_wrong_settings_are_named(step, message):
    with pytest.raises(UserError, match=message):
        plan(step)


def test_commands_accept_the_rule(tmp_path, capsys):
    config = tmp_path / "c.yaml"
    study = {**STUDY, "step": {"rule": "growing", "step": 0.1}}
    config.write_text(yaml.safe_dump({"studies": {"s": study}}))
    assert main(["plan", str(config)]) == 0
    out = tmp_path / "t.zarr.zip"
    words = ["--dataset", "synthetic", "--solver", "vn", "--step", "0.1", "--iterations", "3"]
    rule = ["--step-rule", "growing", "--step-option", "factor=2"]
    assert main(["run", *words, *rule, "--out", str(out)]) == 0
    np.testing.assert_allclose(read_trace(out).scalars["step"], [0.0, 0.1, 0.2, 0.4])
    capsys.readouterr()
