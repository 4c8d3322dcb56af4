"""Test that the status of a run is correct and does not depend on the recording schedule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gvibench.analysis.statuses import MEANINGS
from gvibench.engine.endings import CONVERGED_NORM, Descent, judge
from gvibench.engine.execute import execute
from gvibench.engine.lockstep import run_trials
from gvibench.spec.statuses import STATUSES
from problems import go, prepared, spec

EPS = float(np.finfo(float).eps)


def status_of(objectives, grad_norm=1.0, tolerance=CONVERGED_NORM):
    descent = Descent.start(objectives[0], EPS)
    for iteration, objective in enumerate(objectives[1:], start=1):
        descent.update(iteration, objective)
    last = len(objectives) - 1
    return judge(descent, last, objectives[-1], grad_norm, tolerance, f"{last} iterations done")


def test_a_run_that_ends_above_its_start_has_failed():
    status, reason = status_of([609.0, 100.0, 3_028_244.0])
    assert status == "failed"
    assert "3.02824e+06 above the starting one, 609" in reason


def test_a_run_that_ends_with_nan_has_failed():
    assert status_of([1.0, float("nan")])[0] == "failed"


def test_a_run_below_the_tolerance_has_converged():
    assert status_of([5.0, 4.0, 4.0], grad_norm=1e-4)[0] == "converged"
    assert status_of([5.0, 4.0, 4.0], grad_norm=1e-4, tolerance=1e-5)[0] == "completed"


def test_a_run_whose_objective_stays_constant_has_stalled():
    stuck = [10.0 - min(k, 10) for k in range(40)]
    status, reason = status_of(stuck)
    assert status == "stalled"
    assert "no lower objective since iteration 10" in reason
    assert status_of([10.0 - k for k in range(40)])[0] == "completed"


def test_an_oscillating_run_has_stalled():
    assert status_of([50.0, *(5.0 + 30.0 * (k % 2) for k in range(1, 42))])[0] == "stalled"


@given(
    rate=st.floats(0.01, 0.999),
    gap=st.floats(1e-2, 1e6),
    optimum=st.floats(-1e4, 1e4),
    count=st.integers(10, 300),
)
def test_a_run_that_still_converges_linearly_has_not_stalled(rate, gap, optimum, count):
    last = gap * rate**count
    if last > 1e-6 * (1.0 + gap + abs(optimum)):
        objectives = [optimum + gap * rate**k for k in range(count + 1)]
        assert status_of(objectives)[0] == "completed"


def test_each_status_is_explained():
    assert set(STATUSES) == set(MEANINGS)
    assert all(MEANINGS.values())


@pytest.mark.parametrize("record_every", [1, 7, 50, "log"])
@pytest.mark.parametrize(
    ("solver", "step", "expected"),
    [("vn", 0.3, "converged"), ("vn", 1e-4, "completed"), ("gd", 0.05, "stalled")],
)
def test_the_status_does_not_depend_on_the_recording_schedule(solver, step, expected, record_every):
    trace = go(solver=solver, step=step, iterations=200, record_every=record_every)
    dense = go(solver=solver, step=step, iterations=200, record_every=1)
    assert trace.attrs["status"] == dense.attrs["status"]
    assert trace.attrs["reason"] == dense.attrs["reason"]
    if expected != "stalled":
        assert trace.attrs["status"] == expected


def test_runs_in_lockstep_end_as_they_do_alone():
    data = prepared()
    specs = [
        spec(solver="sr-vn", step=0.05, iterations=60, seed=seed, init_scale=scale)
        for seed, scale in ((0, 1.0), (1, 0.3), (2, 3.0))
    ]
    for wanted, run in zip(specs, run_trials(specs, data), strict=True):
        alone = execute(wanted, data)
        assert run.status == alone.attrs["status"]
        assert run.reason == alone.attrs["reason"]


@pytest.mark.parametrize("record_every", [1, 100, "log"])
def test_snapshots_do_not_depend_on_the_recording_schedule(record_every):
    trace = go(solver="vn", step=0.01, iterations=1000, record_every=record_every, snapshots=32)
    dense = go(solver="vn", step=0.01, iterations=1000, record_every=1, snapshots=32)
    assert trace.snapshot[0] == 0
    assert trace.snapshot[-1] == 1000
    assert len(trace.snapshot) > 20
    np.testing.assert_array_equal(trace.snapshot, dense.snapshot)
    np.testing.assert_array_equal(trace.mean, dense.mean)


def test_the_last_snapshot_of_a_diverged_run_is_its_last_record():
    trace = go(solver="gd", step=50.0, iterations=500, record_every=100, snapshots=32)
    assert trace.attrs["status"] == "diverged"
    assert trace.snapshot[-1] == trace.iteration[-1]
    assert np.all(np.diff(trace.snapshot) > 0)
    assert np.isfinite(trace.mean).all()
