"""Test runs: schedules, stopping, divergence and determinism."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench.engine.run import initial_mean
from gvibench.errors import UserError
from gvibench.registry import SOLVERS
from gvibench.spec.run import DataSpec
from problems import go, prepared, spec


def test_records_every_kth_iterate_with_the_first_and_the_last():
    trace = go(record_every=6)
    assert trace.iteration.tolist() == [0, 6, 12, 18, 20]
    assert trace.attrs["status"] == "completed"
    assert trace.attrs["iterations_done"] == 20


def test_records_on_a_logarithmic_schedule():
    trace = go(record_every="log", iterations=5000)
    assert trace.iteration[:4].tolist() == [0, 1, 2, 3]
    assert trace.iteration[-1] == 5000
    assert 100 < len(trace.iteration) <= 201
    ratios = trace.iteration[-50:] / trace.iteration[-51:-1]
    assert_allclose(ratios, ratios.mean(), rtol=0.01)


def test_recording_does_not_change_the_iterates():
    often, seldom = go(iterations=300, record_every=1), go(iterations=300, record_every=100)
    assert often.scalars["objective"][[0, 100, 200, 300]].tolist() == (
        seldom.scalars["objective"].tolist()
    )


def test_a_run_stops_after_its_time_limit():
    trace = go(iterations=10**9, seconds=0.05, record_every=10**6)
    assert "solver time" in trace.attrs["reason"]
    assert trace.scalars["seconds"][-1] >= 0.05
    assert trace.iteration[-1] == trace.attrs["iterations_done"] > 1


def test_the_wall_time_starts_after_the_set_up(monkeypatch):
    from gvibench.engine import execute

    class SlowRun(execute.Run):
        def __init__(self, *arguments):
            time.sleep(0.3)
            super().__init__(*arguments)
            ready.append(time.perf_counter())

    ready = []
    monkeypatch.setattr(execute, "Run", SlowRun)
    trace = go(iterations=3)
    since = time.perf_counter() - ready[0]
    assert trace.scalars["seconds"][-1] < trace.attrs["wall_seconds"] <= since
    assert trace.attrs["cpu_seconds"] > 0


def test_a_run_stops_at_its_tolerance():
    trace = go(solver="vn", step=0.5, iterations=1000, tolerance=1e-6)
    assert "tolerance" in trace.attrs["reason"]
    assert trace.scalars["grad_norm"][-1] <= 1e-6 < trace.scalars["grad_norm"][-2]
    assert trace.attrs["iterations_done"] < 1000


def test_a_run_without_iterations_records_its_start():
    trace = go(iterations=0)
    assert trace.iteration.tolist() == [0]
    assert trace.snapshot.tolist() == [0]
    assert_allclose(trace.mean[0], np.random.default_rng(0).standard_normal(4))
    assert_allclose(trace.factors["covariance_factor"], np.eye(4))


def test_steps_decay():
    trace = go(
        record=("flow_time",),
        step=0.1,
        step_rule="decay",
        step_options={"decay": 0.5},
        iterations=10,
    )
    steps = 0.1 / (1 + 0.5 * np.arange(10))
    assert_allclose(trace.scalars["flow_time"], np.concatenate([[0], np.cumsum(steps)]))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"solver": "vn", "step": 40.0, "init_scale": 0.05}, "V^-1 is not positive definite"),
        ({"solver": "gd", "step": 5.0}, "V is not positive definite"),
        ({"solver": "bw-gd", "step": 1e3}, "blown up"),
        ({"solver": "sr-vn", "step": 1e99, "init_scale": 1e60}, "not finite"),
    ],
)
def test_divergence_is_a_result_with_a_reason(changes, reason):
    trace = go(iterations=200, **changes)
    assert trace.attrs["status"] == "diverged"
    assert reason in trace.attrs["reason"]
    assert trace.attrs["iterations_done"] < 200
    assert trace.iteration[-1] == trace.attrs["iterations_done"]
    for name, values in trace.scalars.items():
        assert np.isfinite(values).all(), name


def test_divergence_does_not_depend_on_the_recording_schedule():
    endings = {
        go(solver="sr-vn", step=0.3, init_scale=3.0, record_every=k).attrs["reason"]
        for k in (1, 5, 1000)
    }
    assert len(endings) == 1
    assert "at iteration 3: the objective has blown up" in endings.pop()


def test_the_same_spec_gives_a_bit_identical_trace():
    for expectation in ("piecewise", "exact", "stochastic"):
        for solver in SOLVERS.built_in:
            given = spec(solver=solver, expectation=expectation, batch="all")
            if SOLVERS.load(solver).limitation(given):
                continue
            first, second = (
                go(solver=solver, expectation=expectation, batch="all", step=1e-3) for _ in range(2)
            )
            for name in first.scalars:
                if name != "seconds":
                    assert np.array_equal(first.scalars[name], second.scalars[name]), (solver, name)
            assert np.array_equal(first.mean, second.mean)


def test_all_solvers_start_from_the_same_mean():
    means = {go(solver=name, step=1e-3).mean[0].tobytes() for name in ("vn", "sr-vn", "bw-gd")}
    assert means == {initial_mean(spec(), 4).tobytes()}


def test_recorded_eigenvalues_and_norms_agree_with_the_factors():
    names = ("cov_eig_min", "cov_eig_max", "factor_norm", "covariance_factor_path")
    for solver in ("vn", "sr-vn", "bw-gd"):
        trace = go(record=names, solver=solver, iterations=12)
        path = trace.factors["covariance_factor_path"]
        covariances = path @ path.transpose(0, 2, 1)
        at = np.isin(trace.iteration, trace.snapshot)
        eigenvalues = np.linalg.eigvalsh(covariances)
        assert_allclose(trace.scalars["cov_eig_min"][at], eigenvalues[:, 0], rtol=1e-10)
        assert_allclose(trace.scalars["cov_eig_max"][at], eigenvalues[:, -1], rtol=1e-10)
        traces = np.trace(covariances, axis1=1, axis2=2)
        assert_allclose(trace.scalars["factor_norm"][at], np.sqrt(traces), rtol=1e-12)
        assert np.array_equal(trace.factors["covariance_factor"], path[-1])
        assert np.array_equal(path, np.tril(path))


def test_data_passes_count_all_evaluations():
    assert go().scalars["data_passes"].tolist() == list(range(1, 22))
    stochastic = go(expectation="stochastic", batch=10)
    assert_allclose(stochastic.scalars["data_passes"], 10 * 0.25 * np.arange(1, 22))  # 10 draws
    flow = go(solver="ng-flow", iterations=2)
    assert flow.scalars["data_passes"][1] >= 8


def test_a_run_ends_when_its_passes_are_used():
    trace = go(passes=7.0)
    assert trace.scalars["data_passes"][-1] == 7
    assert trace.attrs["reason"].startswith("7 passes over the training rows used")
    stochastic = go(expectation="stochastic", batch=10, samples=2, passes=3.0)
    assert_allclose(stochastic.scalars["data_passes"][-1], 3.0)
    searching = go(step_rule="auto", step=1e3, passes=4.0, solver="sr-vn", init_scale=3.0)
    assert 4 <= searching.scalars["data_passes"][-1] < 20


def test_a_run_without_snapshots_has_no_iterates():
    trace = go(snapshots=0)
    assert trace.mean is None
    assert trace.factors == {}


def test_float32_agrees_with_float64_to_its_precision():
    double, single = go(solver="sr-vn"), go(solver="sr-vn", dtype="float32")
    assert_allclose(single.scalars["objective"], double.scalars["objective"], rtol=1e-5)
    assert single.attrs["dtype"] == "float32"


def test_data_of_another_spec_are_an_error():
    with pytest.raises(UserError, match="prepare the data again"):
        go(prepared(data=DataSpec(dataset="other")))


@pytest.mark.parametrize("solver", ["bw-gd", "gd-chol", "fb-gvi"])
def test_at_zero_temperature_a_vanishing_covariance_is_convergence(solver):
    trace = go(
        solver=solver, gamma=0.0, step=0.02, init_scale=0.3, iterations=6000, record_every=500
    )
    assert trace.attrs["status"] == "converged"
    assert trace.scalars["grad_norm"][-1] < 1e-12
