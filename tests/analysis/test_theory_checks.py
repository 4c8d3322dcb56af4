"""Theory checks of real runs with known results."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from analysis.theory_runs import problem, run_spec, study
from gvibench.analysis.theory_checks import measure
from gvibench.spec.run import DataSpec
from gvibench.store.prepared import Prepared

LOGISTIC = problem()
NARROW = problem(n=4, scale=0.3)
"""Data with few rows, so that the curvature of the loss is little more than beta."""
EARLY = {"init_scale": 2.5, "mean_scale": 0.0, "iterations": 40}
"""Run that starts with a large covariance and stops before it has become small."""


def measure_run(solver, step, data=LOGISTIC, **changes):
    """Return the measurement of a single run."""
    (result,) = measure(study((data, run_spec(data, solver, step, **changes))))
    return result


def isotropic(curvature=5.0, beta=2.0, d=2):
    """Return a linear problem whose Hessian is a multiple of the identity."""
    x = np.sqrt(curvature - beta) * np.eye(d)
    y = np.arange(1.0, d + 1)
    data = Prepared(DataSpec(dataset="isotropic"), x, y, x, y, {})
    return data, {"model": "linear", "beta": beta}


# SR-VN


def test_sr_vn_on_an_isotropic_linear_problem_has_the_rate_of_the_closed_form():
    data, settings = isotropic()
    result = measure_run("sr-vn", 0.05, data, init_scale=5**-0.5, **settings)
    # V is optimal from the start, so the error of the mean shrinks by the factor 1 - rho.
    assert_allclose(result.claim.measured_rate, -2 * math.log1p(-0.05), rtol=1e-6)
    assert_allclose(result.constants.lambda_min, 0.2)
    assert_allclose([result.constants.xi_l, result.constants.xi_u], np.sqrt(0.4))
    assert_allclose(result.constants.smoothness, 5.0)
    # This is the definition of eta, with rho = 0.05 and xi^2 = 0.4.
    eta = 0.2 * 0.05 - 5 * 0.05**2 * 0.4**2 / 2
    assert_allclose(result.claim.claimed_rate, -math.log1p(-2 * eta * 2.0))
    assert result.claim.verdict.held
    assert result.claim.orders_loose > 1
    assert result.failures == []
    # At the optimal covariance, both parts of the gap have the PL constant 1.
    assert_allclose(result.pl_measured, 1.0, rtol=1e-6)


def test_sr_vn_within_a_permissible_step_stays_below_its_bound():
    result = measure_run("sr-vn", 0.05, init_scale=0.4)
    assert not result.claim.not_applicable
    assert result.claim.verdict.held
    assert result.claim.measured_rate > result.claim.claimed_rate > 0
    assert_allclose(
        result.claim.bound,
        result.claim.values[0] * np.exp(-result.claim.claimed_rate * np.arange(301)),
    )
    assert result.claim.iterations_printed < result.claim.iterations_needed
    assert result.findings == []


def test_the_theorem_does_not_apply_to_a_large_step():
    result = measure_run("sr-vn", 1.0, init_scale=0.4)
    assert result.claim.not_applicable == "eta is not positive"
    assert result.claim.bound is None
    assert result.claim.verdict is None
    assert result.claim.measured_rate > 0
    assert result.failures == []  # The step is not permissible as printed either.


def test_a_step_that_is_permissible_only_as_printed_is_reported():
    data = problem(d=8, n=100, scale=0.3)
    result = measure_run("sr-vn", 0.03, data, init_scale=0.5)
    assert result.claim.needed_step < 0.03 < result.claim.printed_step
    assert result.failures == ["the step is permissible as printed, but eta is not positive"]


def test_the_bound_fails_while_the_covariance_is_large():
    result = measure_run("sr-vn", 0.002, NARROW, **EARLY)
    assert result.constants.lambda_min > 1
    assert not result.claim.not_applicable
    assert not result.claim.verdict.held
    first = result.claim.verdict.violated_at
    assert result.claim.values[first] > result.claim.bound[first]
    assert result.claim.values[first - 1] <= result.claim.bound[first - 1]
    assert f"the claimed bound fails, first at iteration {first}" in result.failures


# The flow


def test_the_flow_of_an_isotropic_linear_problem_has_the_rate_of_the_closed_form():
    data, settings = isotropic()
    result = measure_run("ng-flow", 0.05, data, init_scale=5**-0.5, **settings)
    assert_allclose(result.claim.measured_rate, 2.0, rtol=1e-6)
    assert_allclose(result.claim.claimed_rate, 2 * 2.0 * 0.2**2 / 2)
    assert result.claim.unit == "time"
    assert result.claim.verdict.held
    assert_allclose(result.claim.bound[-1] / result.claim.bound[0], np.exp(-0.08 * 300 * 0.05))


def test_the_flow_and_both_lemmas_fail_where_the_covariance_is_large():
    result = measure_run("ng-flow", 0.002, NARROW, **EARLY)
    assert not result.claim.verdict.held
    assert not result.pl_printed.verdict.held
    assert not result.fisher.held
    assert result.pl_valid.verdict.held
    assert result.pl_valid.constant <= result.pl_measured < result.pl_printed.constant
    assert len(result.failures) == 3


def test_the_bound_of_the_flow_holds_once_the_covariance_is_small():
    result = measure_run("ng-flow", 0.05, NARROW, **EARLY | {"iterations": 200})
    assert result.constants.lambda_min < 1
    assert result.failures == []
    assert result.claim.verdict.held


# BW-GD


def test_bw_gd_on_an_isotropic_linear_problem_has_the_rate_of_the_closed_form():
    data, settings = isotropic()
    result = measure_run("bw-gd", 0.02, data, init_scale=5**-0.5, iterations=200, **settings)
    assert result.claim.quantity == "squared Wasserstein distance"
    # Only the mean has an error, which shrinks by the factor 1 - 5 h.
    assert_allclose(result.claim.measured_rate, -2 * math.log1p(-0.1), rtol=1e-6)
    assert_allclose(result.claim.claimed_rate, 2.0 * 0.02)
    start = result.claim.values[0]
    assert_allclose(result.claim.values, start * 0.9 ** (2 * result.claim.iteration), rtol=1e-6)
    assert result.claim.verdict.held


@pytest.mark.parametrize("init_scale", [0.2, 0.4, 1.0])
def test_bw_gd_contracts_within_a_permissible_step(init_scale):
    linear = problem(real=True)
    for data, model in ((LOGISTIC, "logistic"), (linear, "linear")):
        step = 0.02 if model == "logistic" else 0.01
        result = measure_run("bw-gd", step, data, model=model, init_scale=init_scale)
        assert result.claim.printed_step < step <= result.claim.needed_step
        assert result.claim.verdict.held
        ratios = result.claim.values[1:] / result.claim.values[:-1]
        claimed = np.exp(-result.claim.claimed_rate * np.diff(result.claim.iteration))
        above = result.claim.values[1:] > 1e-14
        assert (ratios[above] <= claimed[above]).all()


def test_no_bound_applies_to_bw_gd_with_a_large_step():
    result = measure_run("bw-gd", 0.2, init_scale=0.4)
    assert result.claim.not_applicable == "the step is too long"
    assert result.claim.bound is None
    assert len(result.claim.values) > 2


def test_bw_gd_needs_the_path():
    result = measure_run("bw-gd", 0.02, init_scale=0.4, record=("cov_eig_min", "factor_norm"))
    assert result.claim.not_applicable == "covariance_factor_path was not recorded"
    assert result.fisher is None


# Data of the aggregate


def test_constants_are_computed_from_the_iterates():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "sr-vn", 0.05, snapshots=400)))
    (result,) = measure(dataset)
    factors = dataset["path_covariance_factor"].values[0]
    norms = np.sqrt((factors**2).sum(axis=(1, 2)))
    assert_allclose([result.constants.xi_l, result.constants.xi_u], [norms.min(), norms.max()])
    eigenvalues = np.linalg.eigvalsh(factors @ factors.transpose(0, 2, 1))
    assert_allclose(result.constants.lambda_min, eigenvalues.min(), rtol=1e-9)
    top = np.linalg.eigvalsh(LOGISTIC.train_x.T @ LOGISTIC.train_x)[-1]
    assert_allclose([result.constants.delta, result.constants.smoothness], [2.0, 2.0 + top / 4])


def test_a_wider_data_set_does_not_change_the_measurement():
    wide = problem(d=5, seed=3)
    runs = [
        (data, run_spec(data, solver, 0.02, init_scale=0.4, iterations=iterations))
        for data, iterations in ((LOGISTIC, 100), (wide, 150))
        for solver in ("bw-gd", "sr-vn")
    ]
    for padded, run in zip(measure(study(*runs)), runs, strict=True):
        (alone,) = measure(study(run))
        assert padded.constants == alone.constants
        assert padded.fisher == alone.fisher
        assert_allclose(padded.claim.values, alone.claim.values, rtol=1e-12)
        assert padded.claim.verdict == alone.claim.verdict
        assert padded.seed == alone.seed


def test_other_solvers_have_only_the_inequality():
    result = measure_run("vn", 0.1)
    assert result.claim is None
    assert result.pl_valid.verdict.held
    assert result.pl_printed.verdict.held


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"expectation": "piecewise"}, "expectations are not exact"),
        ({"gamma": 0.5}, "gamma is not 1"),
        ({"record": ("factor_norm",)}, "cov_eig_min was not recorded"),
        ({"record": ("cov_eig_min",)}, "factor_norm was not recorded"),
    ],
)
def test_runs_that_cannot_be_measured_have_a_reason(changes, reason):
    result = measure_run("sr-vn", 0.05, iterations=3, **changes)
    assert result.missing == reason
    assert result.findings == [f"not measured: {reason}"]
    assert result.constants is None


def test_nothing_is_measured_without_an_optimum_or_convexity():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "sr-vn", 0.05, iterations=3)))
    unknown = dataset.assign(smoothness=dataset["smoothness"] * np.nan)
    assert measure(unknown)[0].missing == "the study has no optimum"
    assert measure(dataset.drop_vars("smoothness"))[0].missing == "the study has no optimum"
    spec = dataset["spec"].values[0].replace('"logistic"', '"non-convex"')
    not_convex = dataset.assign_coords(spec=("configuration", np.array([spec], dtype=object)))
    assert measure(not_convex)[0].missing == "the model is not convex"


def test_a_run_without_a_finite_objective_is_not_measured():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "sr-vn", 0.05, iterations=3)))
    infinite = dataset.assign(objective=dataset["objective"] * np.inf)
    assert measure(infinite)[0].missing == "no finite objective was recorded"


def test_distances_need_the_covariance_of_the_optimum():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "bw-gd", 0.02, iterations=3, init_scale=0.4)))
    unknown = dataset.assign(optimum_mean=dataset["optimum_mean"] * np.nan)
    (result,) = measure(unknown)
    assert result.claim.not_applicable == "the covariance of the optimum is not known"


def test_a_run_that_starts_at_the_optimum_violates_nothing():
    data, settings = isotropic()
    centred = Prepared(data.spec, data.train_x, 0 * data.train_y, data.test_x, data.test_y, {})
    for solver in ("sr-vn", "ng-flow", "bw-gd"):
        at_rest = {"init_scale": 5**-0.5, "mean_scale": 0.0, "iterations": 5}
        result = measure_run(solver, 0.02, centred, **settings, **at_rest)
        assert result.failures == []
        assert math.isnan(result.claim.measured_rate)
        assert math.isnan(result.claim.orders_loose)


def test_a_diverged_run_is_measured_up_to_its_last_iterate():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "sr-vn", 30.0)))
    assert dataset["status"].values.tolist() == ["diverged"]
    (result,) = measure(dataset)
    assert result.claim.not_applicable == "eta is not positive"
    assert result.pl_valid.verdict.held


def test_the_theory_does_not_apply_to_decaying_steps():
    result = measure_run(
        "sr-vn", 0.05, init_scale=0.4, step_rule="decay", step_options={"decay": 0.1}
    )
    assert result.missing == "the step is not constant"
    assert result.claim is None
