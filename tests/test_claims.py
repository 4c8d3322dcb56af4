"""What real runs say about the claims, where the answer is known beforehand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench.analysis.theory_checks import measure
from gvibench.spec.run import DataSpec
from gvibench.store.prepared import Prepared
from theory_runs import problem, run_spec, study

LOGISTIC = problem()
NARROW = problem(n=4, scale=0.3)
"""Little data: the loss is curved by hardly more than beta."""
EARLY = {"init_scale": 2.5, "mean_scale": 0.0, "iterations": 40}
"""A large covariance, left before it has come down."""


def only(*runs):
    (found,) = measure(study(*runs))
    return found


def one(solver, step, data=LOGISTIC, **changes):
    return only((data, run_spec(data, solver, step, **changes)))


def isotropic(curvature=5.0, beta=2.0, d=2):
    """Return a linear problem whose Hessian is a multiple of the identity."""
    x = np.sqrt(curvature - beta) * np.eye(d)
    y = np.arange(1.0, d + 1)
    data = Prepared(DataSpec(dataset="isotropic"), x, y, x, y, {})
    return data, {"model": "linear", "beta": beta}


# SR-VN


def test_sr_vn_on_an_isotropic_linear_problem_has_the_rate_of_the_closed_form():
    data, settings = isotropic()
    found = one("sr-vn", 0.05, data, init_scale=5**-0.5, **settings)
    # V is optimal from the start, so the error of the mean shrinks by 1 - rho.
    assert_allclose(found.claim.measured_rate, -2 * math.log1p(-0.05), rtol=1e-6)
    assert_allclose(found.constants.lambda_min, 0.2)
    assert_allclose([found.constants.xi_l, found.constants.xi_u], np.sqrt(0.4))
    assert_allclose(found.constants.smoothness, 5.0)
    # eta from its definition, with rho = 0.05 and xi^2 = 0.4
    eta = 0.2 * 0.05 - 5 * 0.05**2 * 0.4**2 / 2
    assert_allclose(found.claim.claimed_rate, -math.log1p(-2 * eta * 2.0))
    assert found.claim.verdict.held
    assert found.claim.orders_loose > 1
    assert found.failures == []
    # Both parts of the gap have PL constant 1 at the optimal covariance.
    assert_allclose(found.pl_measured, 1.0, rtol=1e-6)


def test_sr_vn_within_a_permissible_step_stays_below_its_bound():
    found = one("sr-vn", 0.05, init_scale=0.4)
    assert not found.claim.not_applicable
    assert found.claim.verdict.held
    assert found.claim.measured_rate > found.claim.claimed_rate > 0
    assert_allclose(
        found.claim.bound,
        found.claim.values[0] * np.exp(-found.claim.claimed_rate * np.arange(301)),
    )
    assert found.claim.iterations_printed < found.claim.iterations_needed
    assert found.findings == []


def test_a_long_step_makes_the_theorem_silent():
    found = one("sr-vn", 1.0, init_scale=0.4)
    assert found.claim.not_applicable == "eta is not positive"
    assert found.claim.bound is None
    assert found.claim.verdict is None
    assert found.claim.measured_rate > 0
    assert found.failures == []  # no step that anybody called permissible


def test_a_step_that_is_permissible_only_as_printed_is_reported():
    data = problem(d=8, n=100, scale=0.3)
    found = one("sr-vn", 0.03, data, init_scale=0.5)
    assert found.claim.needed_step < 0.03 < found.claim.printed_step
    assert found.failures == ["the step is permissible as printed, but eta is not positive"]


def test_the_theorem_fails_on_the_way_down_from_a_large_covariance():
    found = one("sr-vn", 0.002, NARROW, **EARLY)
    assert found.constants.lambda_min > 1
    assert not found.claim.not_applicable
    assert not found.claim.verdict.held
    first = found.claim.verdict.violated_at
    assert found.claim.values[first] > found.claim.bound[first]
    assert found.claim.values[first - 1] <= found.claim.bound[first - 1]
    assert f"the claimed bound fails, first at iteration {first}" in found.failures


# The flow


def test_the_flow_of_an_isotropic_linear_problem_has_the_rate_of_the_closed_form():
    data, settings = isotropic()
    found = one("ng-flow", 0.05, data, init_scale=5**-0.5, **settings)
    assert_allclose(found.claim.measured_rate, 2.0, rtol=1e-6)
    assert_allclose(found.claim.claimed_rate, 2 * 2.0 * 0.2**2 / 2)
    assert found.claim.unit == "time"
    assert found.claim.verdict.held
    assert_allclose(found.claim.bound[-1] / found.claim.bound[0], np.exp(-0.08 * 300 * 0.05))


def test_the_flow_and_both_lemmas_fail_where_the_covariance_is_large():
    found = one("ng-flow", 0.002, NARROW, **EARLY)
    assert not found.claim.verdict.held
    assert not found.pl_printed.verdict.held
    assert not found.fisher.held
    assert found.pl_valid.verdict.held
    assert found.pl_valid.constant <= found.pl_measured < found.pl_printed.constant
    assert len(found.failures) == 3


def test_the_same_flow_keeps_its_bound_once_it_has_come_down():
    found = one("ng-flow", 0.05, NARROW, **EARLY | {"iterations": 200})
    assert found.constants.lambda_min < 1
    assert found.failures == []
    assert found.claim.verdict.held


# BW-GD


def test_bw_gd_on_an_isotropic_linear_problem_has_the_rate_of_the_closed_form():
    data, settings = isotropic()
    found = one("bw-gd", 0.02, data, init_scale=5**-0.5, iterations=200, **settings)
    assert found.claim.quantity == "squared Wasserstein distance"
    # Only the mean is off: it shrinks by 1 - 5 h.
    assert_allclose(found.claim.measured_rate, -2 * math.log1p(-0.1), rtol=1e-6)
    assert_allclose(found.claim.claimed_rate, 2.0 * 0.02)
    start = found.claim.values[0]
    assert_allclose(found.claim.values, start * 0.9 ** (2 * found.claim.iteration), rtol=1e-6)
    assert found.claim.verdict.held


@pytest.mark.parametrize("init_scale", [0.2, 0.4, 1.0])
def test_bw_gd_contracts_within_a_permissible_step(init_scale):
    linear = problem(real=True)
    for data, model in ((LOGISTIC, "logistic"), (linear, "linear")):
        step = 0.02 if model == "logistic" else 0.01
        found = one("bw-gd", step, data, model=model, init_scale=init_scale)
        assert found.claim.printed_step < step <= found.claim.needed_step
        assert found.claim.verdict.held
        ratios = found.claim.values[1:] / found.claim.values[:-1]
        claimed = np.exp(-found.claim.claimed_rate * np.diff(found.claim.iteration))
        above = found.claim.values[1:] > 1e-14
        assert (ratios[above] <= claimed[above]).all()


def test_bw_gd_beyond_a_permissible_step():
    found = one("bw-gd", 0.2, init_scale=0.4)
    assert found.claim.not_applicable == "the step is too long"
    assert found.claim.bound is None
    assert len(found.claim.values) > 2


def test_bw_gd_needs_the_path():
    found = one("bw-gd", 0.02, init_scale=0.4, record=("cov_eig_min", "factor_norm"))
    assert found.claim.not_applicable == "covariance_factor_path was not recorded"
    assert found.fisher is None


# What the aggregate holds


def test_constants_are_those_of_the_iterates():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "sr-vn", 0.05, snapshots=400)))
    (found,) = measure(dataset)
    factors = dataset["path_covariance_factor"].values[0]
    norms = np.sqrt((factors**2).sum(axis=(1, 2)))
    assert_allclose([found.constants.xi_l, found.constants.xi_u], [norms.min(), norms.max()])
    eigenvalues = np.linalg.eigvalsh(factors @ factors.transpose(0, 2, 1))
    assert_allclose(found.constants.lambda_min, eigenvalues.min(), rtol=1e-9)
    top = np.linalg.eigvalsh(LOGISTIC.train_x.T @ LOGISTIC.train_x)[-1]
    assert_allclose([found.constants.delta, found.constants.smoothness], [2.0, 2.0 + top / 4])


def test_a_run_is_measured_alike_beside_a_wider_data_set():
    wide = problem(d=5, seed=3)
    runs = [
        (data, run_spec(data, solver, 0.02, init_scale=0.4, iterations=iterations))
        for data, iterations in ((LOGISTIC, 100), (wide, 150))
        for solver in ("bw-gd", "sr-vn")
    ]
    for together, run in zip(measure(study(*runs)), runs, strict=True):
        alone = only(run)
        assert together.constants == alone.constants
        assert together.fisher == alone.fisher
        assert_allclose(together.claim.values, alone.claim.values, rtol=1e-12)
        assert together.claim.verdict == alone.claim.verdict
        assert together.seed == alone.seed


def test_other_solvers_have_the_inequality_only():
    found = one("vn", 0.1)
    assert found.claim is None
    assert found.pl_valid.verdict.held
    assert found.pl_printed.verdict.held


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"expectation": "piecewise"}, "expectations are not exact"),
        ({"gamma": 0.5}, "gamma is not 1"),
        ({"record": ("factor_norm",)}, "cov_eig_min was not recorded"),
        ({"record": ("cov_eig_min",)}, "factor_norm was not recorded"),
    ],
)
def test_what_cannot_be_measured_is_said(changes, why):
    found = one("sr-vn", 0.05, iterations=3, **changes)
    assert found.missing == why
    assert found.findings == [f"not measured: {why}"]
    assert found.constants is None


def test_nothing_is_measured_without_an_optimum_or_convexity():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "sr-vn", 0.05, iterations=3)))
    unknown = dataset.assign(smoothness=dataset["smoothness"] * np.nan)
    assert measure(unknown)[0].missing == "the study has no optimum"
    assert measure(dataset.drop_vars("smoothness"))[0].missing == "the study has no optimum"
    spec = dataset["spec"].values[0].replace('"logistic"', '"non-convex"')
    bumpy = dataset.assign_coords(spec=("run", np.array([spec], dtype=object)))
    assert measure(bumpy)[0].missing == "the model is not convex"


def test_a_run_without_a_finite_objective_is_not_measured():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "sr-vn", 0.05, iterations=3)))
    lost = dataset.assign(objective=dataset["objective"] * np.inf)
    assert measure(lost)[0].missing == "no finite objective was recorded"


def test_distances_need_the_covariance_of_the_optimum():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "bw-gd", 0.02, iterations=3, init_scale=0.4)))
    unknown = dataset.assign(optimum_mean=dataset["optimum_mean"] * np.nan)
    (found,) = measure(unknown)
    assert found.claim.not_applicable == "the covariance of the optimum is not known"


def test_a_run_that_starts_at_the_optimum_violates_nothing():
    data, settings = isotropic()
    centred = Prepared(data.spec, data.train_x, 0 * data.train_y, data.test_x, data.test_y, {})
    for solver in ("sr-vn", "ng-flow", "bw-gd"):
        at_rest = {"init_scale": 5**-0.5, "mean_scale": 0.0, "iterations": 5}
        found = one(solver, 0.02, centred, **settings, **at_rest)
        assert found.failures == []
        assert math.isnan(found.claim.measured_rate)
        assert math.isnan(found.claim.orders_loose)


def test_a_diverged_run_is_measured_as_far_as_it_got():
    dataset = study((LOGISTIC, run_spec(LOGISTIC, "sr-vn", 30.0)))
    assert dataset["status"].values.tolist() == ["diverged"]
    (found,) = measure(dataset)
    assert found.claim.not_applicable == "eta is not positive"
    assert found.pl_valid.verdict.held


def test_a_step_that_decays_is_not_what_the_theorems_are_about():
    found = one("sr-vn", 0.05, init_scale=0.4, step_decay=0.1)
    assert found.missing == "the step decays"
    assert found.claim is None
