"""The loop: schedules, stopping, divergence, determinism, and the reduced form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench import solvers
from gvibench.engine.execute import execute
from gvibench.engine.run import initial_mean
from gvibench.errors import UserError
from gvibench.models import Rows
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.spec.run import DataSpec
from gvibench.store.prepared import Prepared
from problems import build, rows, spec


def prepared(n=40, d=4, real=False, data=None, seed=0):
    train, test = rows(n, d, seed, real=real), rows(25, d, seed + 1, real=real)
    return Prepared(data or spec().data, train.x, train.y, test.x, test.y, {})


def go(data=None, **changes):
    return execute(spec(**{"step": 1e-2, "iterations": 20, **changes}), data or prepared())


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


def test_stops_after_seconds():
    trace = go(iterations=10**9, seconds=0.05, record_every=10**6)
    assert "solver time" in trace.attrs["reason"]
    assert 0.05 <= trace.scalars["seconds"][-1] < 5
    assert trace.iteration[-1] == trace.attrs["iterations_done"] > 1


def test_stops_within_tolerance():
    trace = go(solver="vn", step=0.5, iterations=1000, tolerance=1e-6)
    assert "tolerance" in trace.attrs["reason"]
    assert trace.scalars["grad_norm"][-1] <= 1e-6 < trace.scalars["grad_norm"][-2]
    assert trace.attrs["iterations_done"] < 1000


def test_no_iterations_record_the_start():
    trace = go(iterations=0)
    assert trace.iteration.tolist() == [0]
    assert trace.snapshot.tolist() == [0]
    assert_allclose(trace.mean[0], np.random.default_rng(0).standard_normal(4))
    assert_allclose(trace.factors["covariance_factor"], np.eye(4))


def test_step_decay():
    trace = go(record=("flow_time",), step=0.1, step_decay=0.5, iterations=10)
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


def test_divergence_is_found_at_the_same_iteration_whatever_is_recorded():
    endings = {
        go(solver="sr-vn", step=0.3, init_scale=3.0, record_every=k).attrs["reason"]
        for k in (1, 5, 1000)
    }
    assert len(endings) == 1
    assert "at iteration 3: the objective has blown up" in endings.pop()


def test_same_spec_gives_the_same_bits():
    for expectation in ("piecewise", "exact", "stochastic"):
        for solver in solvers.MODULES:
            one, two = (go(solver=solver, expectation=expectation, step=1e-3) for _ in range(2))
            for name in one.scalars:
                if name != "seconds":
                    assert np.array_equal(one.scalars[name], two.scalars[name]), (solver, name)
            assert np.array_equal(one.mean, two.mean)


def test_one_initial_mean_for_all_solvers():
    means = {go(solver=name, step=1e-3).mean[0].tobytes() for name in ("vn", "sr-vn", "bw-gd")}
    assert means == {initial_mean(spec(), 4).tobytes()}


def test_extra_records_agree_with_the_factor_path():
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


def test_data_passes_count_every_evaluation():
    assert go(record=("data_passes",)).scalars["data_passes"].tolist() == list(range(1, 22))
    stochastic = go(record=("data_passes",), expectation="stochastic", batch=10)
    assert_allclose(stochastic.scalars["data_passes"], 0.25 * np.arange(1, 22))
    flow = go(record=("data_passes",), solver="ng-flow", iterations=2)
    assert flow.scalars["data_passes"][1] >= 8


def test_no_snapshots_keep_no_iterates():
    trace = go(snapshots=0)
    assert trace.mean is None
    assert trace.factors == {}


def test_float32_is_float64_to_its_precision():
    double, single = go(solver="sr-vn"), go(solver="sr-vn", dtype="float32")
    assert_allclose(single.scalars["objective"], double.scalars["objective"], rtol=1e-5)
    assert single.attrs["dtype"] == "float32"


def test_prepared_data_must_be_those_of_the_spec():
    with pytest.raises(UserError, match="prepare the data anew"):
        go(prepared(data=DataSpec(dataset="other")))


# The reduced form


@pytest.mark.parametrize("expectation", ["exact", "piecewise"])
@pytest.mark.parametrize(
    ("solver", "options", "step"),
    [
        ("vn", {}, 0.2),
        ("bw-gd", {}, 2e-3),
        ("gd", {}, 2e-3),
        ("fb-gvi", {}, 2e-3),
        ("svgd-density", {"kernel": "linear"}, 1e-5),
        ("svgd-density", {"kernel": "centred"}, 1e-4),
        ("ng-flow", {"parametrisation": "covariance"}, 1e-2),
    ],
)
def test_reduced_runs_equal_dense_ones(solver, options, step, expectation):
    data = prepared(n=30, d=60)
    changes = {
        "solver": solver,
        "solver_options": options,
        "step": step,
        "iterations": 15 if solver != "ng-flow" else 4,
        "expectation": expectation,
        "record": ("factor_norm",),
    }
    dense, reduced = go(data, form="dense", **changes), go(data, **changes)
    assert (dense.attrs["solver_form"], reduced.attrs["solver_form"]) == ("dense", "reduced")
    tolerance = 1e-9 if solver != "ng-flow" else 1e-6  # the integrator chooses other steps
    for name in dense.scalars:
        if name != "seconds":
            assert_allclose(
                reduced.scalars[name], dense.scalars[name], rtol=tolerance, err_msg=name
            )
    assert_allclose(reduced.mean, dense.mean, rtol=tolerance, atol=tolerance)
    assert reduced.factors["reduced_factor"].shape == (32, 32)


def test_reduced_vn_and_bw_gd_equal_dense_ones_on_a_larger_problem():
    data = prepared(n=30, d=300)
    for solver, step in (("vn", 0.1), ("bw-gd", 1e-3)):
        dense, reduced = (
            go(data, solver=solver, step=step, form=form, iterations=10)
            for form in ("dense", "reduced")
        )
        for name in ("objective", "neg_elbo", "test_nll", "test_accuracy", "grad_norm"):
            assert_allclose(reduced.scalars[name], dense.scalars[name], rtol=1e-9)
        assert_allclose(reduced.mean, dense.mean, rtol=1e-9, atol=1e-9)


def test_sr_vn_rotated_is_sr_vn_in_a_basis_of_the_rows():
    data = prepared(n=12, d=30)
    rotated = go(data, solver="sr-vn-rotated", step=1e-3)
    mean = initial_mean(spec(), 30)
    basis = np.linalg.qr(np.column_stack([data.train_x.T, mean, np.eye(30)]))[0][:, :30]
    # SR-VN on the rotated data, by the printed update and nothing else
    model = build(Rows(data.train_x @ basis, data.train_y), Rows(data.test_x @ basis, data.test_y))
    m, c = basis.T @ mean, np.eye(30)
    for k in range(21):
        factor = CovarianceFactor(model.backend, c)
        oracle = model.full_oracle(m, factor, "hessian")
        value = model.objectives(m, factor, oracle.value).objective
        assert_allclose(rotated.scalars["objective"][k], value, rtol=1e-10)
        residual = c.T @ oracle.curvature @ c - np.eye(30)
        m, c = (
            m - 1e-3 * c @ c.T @ oracle.gradient,
            c - 1e-3 * c @ model.backend.half_lower(residual),
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"solver": "sr-vn", "form": "reduced"},
        {"solver": "gd-chol", "form": "reduced"},
        {"solver": "vn", "form": "reduced", "model": "non-convex"},
        {"solver": "vn", "form": "reduced", "expectation": "stochastic"},
        {"solver": "sr-vn-rotated", "form": "dense"},
    ],
)
def test_forms_that_do_not_exist_are_refused(changes):
    with pytest.raises(UserError, match="cannot work in the basis of the rows"):
        go(**changes)


@pytest.mark.parametrize("solver", ["bw-gd", "gd-chol", "fb-gvi"])
def test_without_temperature_the_covariance_may_vanish(solver):
    """At gamma = 0 V goes to zero, which is convergence and not divergence."""
    trace = go(
        solver=solver, gamma=0.0, step=0.02, init_scale=0.3, iterations=6000, record_every=500
    )
    assert trace.attrs["status"] == "converged"
    assert trace.scalars["grad_norm"][-1] < 1e-12


def test_a_reduced_run_has_no_factors_along_the_way():
    with pytest.raises(UserError, match="use form 'dense'"):
        go(prepared(n=10, d=20), record=("covariance_factor_path",))
