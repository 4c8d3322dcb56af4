"""Runs that take their steps together are the runs that they would be one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gvibench import solvers
from gvibench.engine.execute import execute, execute_lockstep
from gvibench.errors import Diverged
from gvibench.solvers.base import stack, unstack
from gvibench.solvers.vn import Vn
from gvibench.store.prepared import Prepared
from problems import build, rows, spec

STEPS = {"vn": 0.1, "sr-vn": 1e-2}
KINDS = {name: solvers.configure(name, {}) for name in solvers.MODULES}
STACKED = [name for name, kind in KINDS.items() if kind.supports_batching and not kind.rotated]


def prepared(n=60, d=5):
    train, test = rows(n, d, seed=0), rows(25, d, seed=1)
    return Prepared(spec().data, train.x, train.y, test.x, test.y, {})


def variants(*starts, **changes):
    """Specs that differ in seed and initial scale."""
    return [spec(**changes, seed=seed, init_scale=scale) for seed, scale in starts]


def together(traces):
    return [trace.attrs["lockstep_size"] for trace in traces]


def assert_as_alone(specs, data):
    """Do runs in both ways, compare them, and return them."""
    found = execute_lockstep(specs, data)
    for one, other in zip((execute(each, data) for each in specs), found, strict=True):
        for name in ("spec_hash", "status", "reason", "iterations_done", "solver_form"):
            assert other.attrs[name] == one.attrs[name]
        assert np.array_equal(other.iteration, one.iteration)
        assert np.array_equal(other.snapshot, one.snapshot)
        for name, values in one.scalars.items():
            if name != "seconds":
                assert_allclose(other.scalars[name], values, rtol=1e-9, err_msg=name)
        assert_allclose(other.mean, one.mean, rtol=1e-9, atol=1e-12)
        for name, values in one.factors.items():
            assert_allclose(other.factors[name], values, rtol=1e-9, atol=1e-12, err_msg=name)
    return found


def test_solvers_of_the_paper_are_stacked():
    assert {"vn", "sr-vn", "bw-gd", "gd", "svgd-density"} <= set(STACKED)


def test_who_changes_a_step_must_say_that_it_stacks():
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
def test_numbers_are_those_of_runs_alone(solver, expectation, model):
    specs = variants(
        (0, 1.0),
        (1, 0.3),
        (2, 1.0),
        solver=solver,
        expectation=expectation,
        model=model,
        step=STEPS.get(solver, 1e-4),
        step_decay=0.01,
        iterations=40,
        record_every=7,
        record=("sign_flips", "factor_norm", "flow_time", "covariance_factor_path"),
    )
    assert together(assert_as_alone(specs, prepared())) == [3, 3, 3]


def test_the_centred_kernel_too():
    options = {"solver_options": {"kernel": "centred"}, "step": 1e-3, "iterations": 30}
    specs = variants((0, 1.0), (1, 1.0), solver="svgd-density", **options)
    assert together(assert_as_alone(specs, prepared())) == [2, 2]


@pytest.mark.parametrize("record_every", [1, 10, "log"])
@pytest.mark.parametrize(
    ("solver", "step", "scales", "done"),
    [
        ("vn", 1.5, (0.02, 0.5), [0, 1]),
        ("gd", 0.3, (0.1, 1.0, 3.0, 20.0), [50, 0, 24, 50]),
        ("sr-vn", 0.3, (20.0, 1.0, 3.0, 0.1), [1, 50, 2, 50]),
    ],
)
def test_a_run_that_diverges_ends_as_it_would_alone(solver, step, scales, done, record_every):
    changes = {"solver": solver, "step": step, "iterations": 50, "record_every": record_every}
    specs = variants(*((0, scale) for scale in scales), **changes)
    found = assert_as_alone(specs, prepared())
    assert [trace.attrs["iterations_done"] for trace in found] == done


def test_runs_stop_within_their_tolerance_each_at_its_own_iteration():
    specs = variants((0, 1.0), (1, 0.1), (2, 3.0), step=0.5, iterations=1000, tolerance=1e-6)
    found = assert_as_alone(specs, prepared())
    assert len({trace.attrs["iterations_done"] for trace in found}) > 1


def test_no_iterations_and_a_hopeless_start():
    assert_as_alone(variants((0, 1.0), (1, 2.0), iterations=0), prepared())
    changes = {"solver": "sr-vn", "step": 1e99, "iterations": 5}
    assert_as_alone(variants((0, 1e60), (1, 1.0), **changes), prepared())


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({}, {"exclusive": True}),
        ({"expectation": "stochastic"}, {}),
        ({"seconds": 100.0}, {}),
        ({"dtype": "float32"}, {}),
        ({"solver": "ng-flow"}, {}),
        ({"solver": "sr-vn-rotated"}, {}),
        ({"solver": "bw-gd", "form": "reduced"}, {}),
    ],
)
def test_some_runs_go_one_after_the_other(changes, options):
    specs = variants((0, 1.0), (1, 1.0), **{"step": 1e-3, "iterations": 3, **changes})
    assert together(execute_lockstep(specs, prepared(), **options)) == [1, 1]


def test_runs_that_differ_in_more_than_their_start_go_one_after_the_other():
    specs = [spec(step=step, iterations=3) for step in (0.1, 0.2)]
    assert together(execute_lockstep(specs, prepared())) == [1, 1]


def test_time_is_shared_out():
    specs = variants(*((seed, 1.0) for seed in range(4)), iterations=300, record_every=100)
    found = execute_lockstep(specs, prepared())
    assert len({trace.scalars["seconds"][-1] for trace in found}) == 1
    assert 0 < found[0].scalars["seconds"][-1] < found[0].attrs["wall_seconds"]


def test_every_run_tells_its_progress():
    specs = variants((0, 1.0), (1, 1.0), iterations=6, record_every=2, snapshots=0)
    told = [[], []]
    progress = [
        lambda iteration, recorder, seconds, mine=mine: mine.append(iteration) for mine in told
    ]
    execute_lockstep(specs, prepared(), progress=progress)
    assert told == [[2, 4, 6], [2, 4, 6]]


@pytest.mark.parametrize("solver", STACKED)
@settings(max_examples=15, deadline=None)
@given(
    d=st.integers(1, 6),
    count=st.integers(1, 4),
    seed=st.integers(0, 1000),
    log_step=st.floats(-5, 0),
)
def test_a_step_of_a_stack_is_the_stack_of_the_steps(solver, d, count, seed, log_step):
    model, kind, step = build(train=rows(n=30, d=d, seed=seed)), KINDS[solver], 10.0**log_step
    rng = np.random.default_rng(seed)
    states = [kind.init(model, rng.standard_normal(d), scale) for scale in 0.5 + rng.random(count)]
    try:
        following = [kind.step(state, model, step) for state in states]
    except Diverged:
        return
    stacked = unstack(kind.step(stack(states), model, step))
    for one, other in zip(following, stacked, strict=True):
        assert (other.iteration, other.evaluations) == (one.iteration, one.evaluations)
        assert_allclose(other.mean, one.mean, rtol=1e-12, atol=1e-14)
        assert_allclose(other.factor.lower, one.factor.lower, rtol=1e-12, atol=1e-14)
        assert_allclose(
            model.metrics(other.mean, other.factor, other.oracle),
            model.metrics(one.mean, one.factor, one.oracle),
            rtol=1e-10,
        )
