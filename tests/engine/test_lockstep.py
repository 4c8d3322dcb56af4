"""Test that runs in lockstep equal runs that are executed alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gvibench import solvers
from gvibench.engine import lockstep
from gvibench.engine.execute import execute
from gvibench.engine.lockstep import run_trials
from gvibench.errors import Diverged
from gvibench.registry import SOLVERS
from gvibench.solvers.base import stack, unstack
from gvibench.solvers.vn import Vn
from problems import build, prepared, rows, spec

STEPS = {"vn": 0.1, "sr-vn": 1e-2}
INSTANCES = {name: solvers.create(name, {}) for name in SOLVERS.built_in}
STACKED = [
    name for name, solver in INSTANCES.items() if solver.supports_batching and not solver.rotated
]
DATA = prepared(n=60, d=5)


def variants(*starts, **changes):
    """Return specs that differ in seed and initial scale."""
    return [spec(**changes, seed=seed, init_scale=scale) for seed, scale in starts]


@pytest.fixture
def groups(monkeypatch):
    """Sizes of the groups that go in lockstep."""
    sizes = []
    run_lockstep = lockstep._run_lockstep
    monkeypatch.setattr(
        lockstep, "_run_lockstep", lambda runs: (sizes.append(len(runs)), run_lockstep(runs))
    )
    return sizes


def run_both(specs):
    """Execute runs in lockstep and alone, compare them, and return the former."""
    runs = list(run_trials(specs, DATA))
    for wanted, run in zip(specs, runs, strict=True):
        (alone,) = run_trials([wanted], DATA)
        assert run.spec == wanted
        assert (run.status, run.reason) == (alone.status, alone.reason)
        assert run.recorder.iteration == alone.recorder.iteration
        expected = alone.recorder.scalars()["objective"]
        assert_allclose(run.recorder.scalars()["objective"], expected, rtol=1e-9)
        assert_allclose(run.state.mean, alone.state.mean, rtol=1e-9, atol=1e-12)
        assert_allclose(run.state.factor.lower, alone.state.factor.lower, rtol=1e-9, atol=1e-12)
        assert run.state.sign_flips == alone.state.sign_flips
    return runs


def test_solvers_of_the_paper_support_batching():
    assert {"vn", "sr-vn", "bw-gd", "gd", "svgd-density"} <= set(STACKED)


def test_a_subclass_with_another_step_must_declare_batching():
    class Renamed(Vn):
        id = "renamed"

    class Changed(Vn):
        def step(self, state, model, rho):
            return super().step(state, model, 0.5 * rho)

    class Declared(Changed):
        supports_batching = True

    assert [kind.supports_batching for kind in (Vn, Renamed, Changed, Declared)] == [
        True,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("model", ["logistic", "non-convex"])
@pytest.mark.parametrize("expectation", ["exact", "piecewise", "gauss-hermite"])
@pytest.mark.parametrize("solver", STACKED)
def test_runs_in_lockstep_equal_runs_alone(solver, expectation, model, groups):
    specs = variants(
        (0, 1.0),
        (1, 0.3),
        (2, 1.0),
        solver=solver,
        expectation=expectation,
        model=model,
        step=STEPS.get(solver, 1e-4),
        step_rule="decay",
        step_options={"decay": 0.01},
        iterations=40,
        record_every=7,
        snapshots=0,
    )
    runs = run_both(specs)
    assert groups == [3]
    for wanted, run in zip(specs, runs, strict=True):
        trace = execute(wanted, DATA)
        assert run.status == trace.attrs["status"]
        assert run.recorder.iteration == trace.iteration.tolist()
        objective = run.recorder.scalars()["objective"]
        assert_allclose(objective, trace.scalars["objective"], rtol=1e-9)


def test_runs_with_the_centred_kernel_equal_runs_alone(groups):
    options = {"solver_options": {"kernel": "centred"}, "step": 1e-3, "iterations": 30}
    specs = variants((0, 1.0), (1, 1.0), solver="svgd-density", **options)
    run_both(specs)
    assert groups == [2]


@pytest.mark.parametrize("record_every", [1, 10, "log"])
@pytest.mark.parametrize(
    ("solver", "step", "scales", "done"),
    [
        ("vn", 1.5, (0.02, 0.5), [0, 1]),
        ("gd", 0.3, (0.1, 1.0, 3.0, 20.0), [50, 0, 24, 50]),
        ("sr-vn", 0.3, (20.0, 1.0, 3.0, 0.1), [1, 50, 2, 50]),
    ],
)
def test_a_diverging_run_ends_as_it_would_alone(solver, step, scales, done, record_every):
    changes = {"solver": solver, "step": step, "iterations": 50, "record_every": record_every}
    specs = variants(*((0, scale) for scale in scales), **changes)
    runs = run_both(specs)
    assert [run.recorder.iteration[-1] for run in runs] == done


def test_runs_stop_within_their_tolerance_each_at_its_own_iteration():
    specs = variants((0, 1.0), (1, 0.1), (2, 3.0), step=0.5, iterations=1000, tolerance=1e-6)
    runs = run_both(specs)
    assert len({run.recorder.iteration[-1] for run in runs}) > 1


def test_runs_without_iterations_and_with_invalid_starts_equal_runs_alone():
    run_both(variants((0, 1.0), (1, 2.0), iterations=0))
    changes = {"solver": "sr-vn", "step": 1e99, "iterations": 5}
    run_both(variants((0, 1e60), (1, 1.0), **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"expectation": "stochastic"},
        {"seconds": 100.0},
        {"dtype": "float32"},
        {"solver": "ng-flow"},
        {"solver": "sr-vn-rotated"},
        {"solver": "bw-gd", "form": "reduced"},
    ],
)
def test_runs_that_cannot_be_batched_are_executed_alone(changes, groups):
    specs = variants((0, 1.0), (1, 1.0), **{"step": 1e-3, "iterations": 3, **changes})
    assert [run.spec for run in run_trials(specs, DATA)] == specs
    assert groups == []


def test_runs_with_different_steps_are_executed_alone(groups):
    run_both([spec(step=step, iterations=3) for step in (0.1, 0.2)])
    assert groups == []


def test_solver_time_is_divided_equally():
    specs = variants(*((seed, 1.0) for seed in range(4)), iterations=300, record_every=100)
    assert len({run.seconds for run in run_trials(specs, DATA)}) == 1


@pytest.mark.parametrize("solver", STACKED)
@settings(max_examples=15, deadline=None)
@given(
    d=st.integers(1, 6),
    count=st.integers(1, 4),
    seed=st.integers(0, 1000),
    log_step=st.floats(-5, 0),
)
def test_a_step_of_stacked_states_equals_their_single_steps(solver, d, count, seed, log_step):
    model, method, step = (
        build(train=rows(n=30, d=d, seed=seed)),
        INSTANCES[solver],
        10.0**log_step,
    )
    rng = np.random.default_rng(seed)
    states = [
        method.init(model, rng.standard_normal(d), scale) for scale in 0.5 + rng.random(count)
    ]
    try:
        following = [method.step(state, model, step) for state in states]
    except Diverged:
        return
    stacked = unstack(method.step(stack(states), model, step))
    for single, other in zip(following, stacked, strict=True):
        assert (other.iteration, other.evaluations) == (single.iteration, single.evaluations)
        assert_allclose(other.mean, single.mean, rtol=1e-12, atol=1e-14)
        assert_allclose(other.factor.lower, single.factor.lower, rtol=1e-12, atol=1e-14)
        assert_allclose(
            model.metrics(other.mean, other.factor, other.oracle),
            model.metrics(single.mean, single.factor, single.oracle),
            rtol=1e-10,
        )
