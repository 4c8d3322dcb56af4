"""The example of a submission is accepted, and tampered copies of it are rejected."""

import ast
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmark_folders import instance, problem_folder, read_traces
from gvibench.engine.optimum import find_optimum
from gvibench.engine.rescore import recompute, verify_objective
from gvibench.errors import UserError
from gvibench.spec.run import ProblemSpec
from problems import DATA, prepared_for
from reader import ROOT

ADAPTERS = ROOT / "examples/adapters"
LIBRARIES = ("blackjax_fullrank", "numpyro_autonormal", "gsmvi_gsm")
LIBRARY_PYTHON = ROOT / ".venv/adapters/bin/python"
"""Environment of the libraries, which `make test-adapters` creates."""
MODELS = ("logistic", "probit", "poisson")


def certified(model, basis):
    """Return an instance with the optimum that another algorithm finds, in the first basis."""
    spec = ProblemSpec(data=DATA, model=model, beta=0.5, expectation="exact")
    value = find_optimum(spec, prepared_for(model)).attrs["objective"]
    made = instance(model, basis)
    if basis == "affine":  # theta = A eta, so log det V changes by the constant 2 log det A
        plain = instance(model)
        change = np.linalg.lstsq(plain.rows, made.rows)[0]
        value += np.linalg.slogdet(change)[1]
    return replace(made, optimum=value)


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    made = [certified(model, basis) for model in MODELS for basis in ("identity", "affine")]
    return problem_folder(tmp_path_factory.mktemp("problems"), *made)


@pytest.fixture(scope="module")
def submission(problems, tmp_path_factory):
    folder = tmp_path_factory.mktemp("submission") / "new"
    run(ADAPTERS / "plain_numpy.py", problems.path, folder)
    return folder


def run(*words, python=sys.executable):
    command = [str(python), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def accept(folder, problems):
    """Read, recompute and verify a submission, and return its gaps."""
    gaps = {}
    for name, trace in read_traces(folder, problems).items():
        problem = problems.read(name)
        objective = recompute(problem, trace.mean, trace.covariance_factor)
        verify_objective(name, trace.objective, objective)
        gaps[name] = objective - problem.optimum
    return gaps


def test_the_plain_solver_is_accepted_and_converges(submission, problems):
    gaps = accept(submission, problems)
    assert gaps.keys() == set(problems.names)
    for gap in gaps.values():
        assert gap[0] > 0.1
        assert abs(gap[-1]) < 1e-9


def test_costs_are_counted_from_the_start(submission, problems):
    for trace in read_traces(submission, problems).values():
        assert trace.cost[0] == 0
        assert trace.cost[1] >= 2
        assert (np.diff(trace.cost) >= 1).all()
        assert trace.status == "completed"


def test_instances_can_be_chosen(problems, tmp_path):
    name = problems.names[2]
    output = run(ADAPTERS / "plain_numpy.py", problems.path, tmp_path / "new", name)
    assert output == f"{name}: completed\n"
    assert list(read_traces(tmp_path / "new", problems)) == [name]


def factor_scaled(values):
    values["covariance_factor"] *= 1 + 1e-6


def later_factor_scaled(values):
    values["covariance_factor"][1:] *= 1 + 1e-6


def cost_decreased(values):
    values["cost"][2] = values["cost"][1] - 0.5


def objective_changed(values):
    values["objective"][-1] *= 1 + 1e-6


def mean_moved(values):
    values["mean"][1] += 1e-4


TAMPERED = {
    factor_scaled: "'covariance_factor' of record 0 differs from the given start",
    later_factor_scaled: "the objective of record 1 is",
    cost_decreased: "'cost' decreases",
    objective_changed: "the objective of record",
    mean_moved: "the objective of record 1 is",
}


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
@pytest.mark.parametrize("model", MODELS)
def test_tampered_copies_are_rejected(submission, problems, tmp_path, model, tamper):
    name = f"{model}.affine.start"
    folder = shutil.copytree(submission, tmp_path / "copy")
    with np.load(folder / f"{name}.npz") as file:
        values = dict(file)
    tamper(values)
    np.savez(folder / f"{name}.npz", **values)
    with pytest.raises(UserError) as error:
        accept(folder, problems)
    assert TAMPERED[tamper] in str(error.value)
    assert name in str(error.value)


def test_a_wrong_instance_name_is_rejected(submission, problems, tmp_path):
    folder = shutil.copytree(submission, tmp_path / "copy")
    source, target = (folder / f"logistic.{basis}.start.npz" for basis in ("affine", "identity"))
    shutil.copy(source, target)  # the trace of another instance
    with pytest.raises(UserError, match="differs from the given start"):
        accept(folder, problems)
    source.rename(folder / "logistic.affin.start.npz")
    with pytest.raises(UserError, match=r"has no instance 'logistic\.affin\.start'"):
        accept(folder, problems)


def test_an_infinite_start_is_reported(tmp_path):
    wide = replace(instance("poisson"), factor0=1e3 * np.eye(4))
    problems = problem_folder(tmp_path / "problems", wide)
    run(ADAPTERS / "plain_numpy.py", problems.path, tmp_path / "new")
    [trace] = read_traces(tmp_path / "new", problems).values()
    assert (trace.status, trace.reason) == ("diverged", "the objective is infinite at the start")
    assert accept(tmp_path / "new", problems) == {wide.name: [np.inf]}


# Adapters of libraries, which are not dependencies


def test_requirements_pin_the_libraries_of_the_adapters():
    pinned = re.findall(r"^(\S+)==\S+$", (ADAPTERS / "requirements.txt").read_text(), re.M)
    imported = set()
    for path in ADAPTERS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.partition(".")[0])
    assert set(pinned) == imported - sys.stdlib_module_names - {"folder", "numpy"}
    listed = (ROOT / "docs/benchmark/adapters.md").read_text()
    names = {path.stem for path in ADAPTERS.glob("*.py")} - {"folder"}
    assert names == {*LIBRARIES, "plain_numpy"}
    assert all(f"[`{name}.py`]" in listed for name in names)


@pytest.mark.adapters
@pytest.mark.parametrize("adapter", LIBRARIES)
def test_adapters_are_accepted(adapter, tmp_path):
    if not LIBRARY_PYTHON.exists():
        pytest.skip("the libraries of the adapters are not installed: run 'make test-adapters'")
    made = [certified(model, "identity") for model in MODELS]
    problems = problem_folder(tmp_path / "problems", *made)
    words = ADAPTERS / f"{adapter}.py", problems.path, tmp_path / "new"
    run(*words, python=LIBRARY_PYTHON)
    traces = read_traces(tmp_path / "new", problems)
    assert traces.keys() == set(problems.names)
    assert {trace.status for trace in traces.values()} == {"completed"}
    assert all(50 <= len(trace.cost) <= 61 for trace in traces.values())
    assert all(9_990 <= trace.cost[-1] <= 10_000 for trace in traces.values())
    for name, gap in accept(tmp_path / "new", problems).items():
        assert (gap > -1e-9).all()
        # The start of the counts is so wide that their first gradients slow Adam down.
        assert gap[-1] < (0.05 * gap[0] if name.startswith("poisson") else 0.1)
        assert gap[0] > 10


SOLVER = """
import sys
sys.path.insert(0, {folder!r})
from folder import main
def solve(problem, trace):
    trace.record(0, problem.mean0, problem.factor0)
    if problem.name.startswith("logistic"):
        trace.record(1, problem.mean0 * float("nan"), problem.factor0)
    if problem.name.startswith("probit"):
        raise RuntimeError("no memory")
main({card!r}, solve)
"""


def test_the_helper_reports_divergence_and_errors(submission, problems, tmp_path):
    card = {**json.loads((submission / "card.json").read_text()), "track": "B"}
    script = SOLVER.format(folder=str(ADAPTERS), card=card)
    run("-c", script, problems.path, tmp_path / "new")
    traces = read_traces(tmp_path / "new", problems)
    found = {name.split(".")[0]: (trace.status, trace.reason) for name, trace in traces.items()}
    assert found == {
        "logistic": ("diverged", "mean or covariance not finite at cost 1"),
        "probit": ("failed", "RuntimeError: no memory"),
        "poisson": ("completed", ""),
    }
    assert all(len(trace.cost) == 1 for trace in traces.values())
