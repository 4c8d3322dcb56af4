"""Theoretical bounds, compared with dense linear algebra and closed forms."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import sqrtm

from analysis.theory_runs import optimum_of, problem, run_spec
from gvibench.analysis.theory import (
    Bound,
    Constants,
    bw_step,
    first_violation,
    fisher_inverse_floor,
    lambert_step,
    looseness,
    measured_rate,
    pl_constant,
    squared_wasserstein,
)
from gvibench.numerics.gaussian import CovarianceFactor
from problems import build, random_gaussian, rows

positive = st.floats(1e-3, 1e3)


def constants(delta=0.5, smoothness=4.0, lambda_min=0.2, xi_l=0.7, xi_u=1.3):
    return Constants(delta, smoothness, lambda_min, xi_l, xi_u)


# Constants of the SR-VN theorem


def test_rho_1_and_rho_2_maximise_the_terms_of_eta():
    c = constants()
    steps = np.linspace(1e-4, 3 * c.printed_step, 20001)
    terms = -np.array([c.omegas(step) for step in steps])
    assert_allclose(steps[terms.argmax(axis=0)], [c.rho_1, c.rho_2], rtol=1e-3)
    # These are the maxima as printed in the paper.
    largest = [c.lambda_min**2 / (2 * c.lambda_max**2 * c.smoothness)]
    largest += [c.xi_l**4 / (2 * c.smoothness * c.xi_u**4)]
    assert_allclose(terms.max(axis=0), largest, rtol=1e-6)


@given(positive, positive, positive, st.floats(1.0, 100.0), st.floats(0.01, 1.0))
def test_eta_is_positive_up_to_the_needed_step_but_not_always_at_the_printed_step(
    smoothness, lambda_min, xi_l, spread, share
):
    c = constants(1.0, smoothness, lambda_min, xi_l, spread * xi_l)
    assert c.eta(share * c.needed_step) > 0
    assert c.printed_step >= c.needed_step
    if c.printed_step > 2.01 * c.needed_step:
        assert c.eta(c.printed_step) < 0


def test_claimed_iterations_shrink_the_gap_by_the_given_ratio():
    c = constants()
    printed, needed = c.complexities(1e-3)
    assert printed < needed
    eta = min(
        c.lambda_min**2 / (2 * c.lambda_max**2 * c.smoothness),
        c.xi_l**4 / (2 * c.smoothness * c.xi_u**4),
    )
    assert_allclose((1 - 2 * eta * c.delta) ** needed, 1e-3, rtol=1e-9)
    assert c.complexities(1.0) == (0.0, 0.0)


def test_a_tiny_contraction_is_accurate():
    bound = Bound.of_contraction(1e-18)
    assert_allclose(bound.at([0.0, 1e18], 3.0), [3.0, 3.0 / math.e])


@pytest.mark.parametrize("contraction", [-0.1, 0.0, 1.0, 2.0, math.nan])
def test_no_bound_without_contraction(contraction):
    with pytest.raises(ValueError, match="no bound"):
        Bound.of_contraction(contraction)


# Measurements


def test_values_below_the_floor_are_not_violations():
    values = np.array([8.0, 4.0, 2.0, 1e-12])
    assert first_violation(values, np.array([8.0, 4.0, 2.0, 1e-13]), 1e-10) is None
    assert first_violation(values, np.array([8.0, 4.0, 2.0, 1e-13]), 1e-14) == 3
    assert first_violation(values, np.array([8.0, 3.9, 1.0, 1.0]), 1e-10) == 1


def test_looseness_uses_the_last_value_above_the_floor():
    values, bound = np.array([1.0, 1e-4, 1e-14]), np.array([1.0, 1e-1, 1e-2])
    assert_allclose(looseness(values, bound, 1e-10), 3.0)
    assert math.isnan(looseness(values, bound, 2.0))
    assert looseness(values, np.zeros(3), 1e-10) == -math.inf


def test_the_measured_rate_is_the_asymptotic_rate():
    time = np.arange(400.0)
    values = 5 * np.exp(-0.1 * time) + 1e3 * np.exp(-2.0 * time)
    values[values < 1e-9] = 3e-10  # Values at the level of rounding errors.
    outliers = values.copy()
    outliers[[60, 90, 150]] *= 1.5
    assert_allclose(measured_rate(time, values, 1e-9), 0.1, rtol=1e-6)
    assert_allclose(measured_rate(time, outliers, 1e-9), 0.1, rtol=1e-6)
    assert_allclose(measured_rate(time[::7], values[::7], 1e-9), 0.1, rtol=1e-6)
    assert math.isnan(measured_rate(time, values, 1e6))
    assert_allclose(measured_rate(time[:3], np.full(3, 2.0), 0.0), 0.0)


# The Fisher matrix and the PL inequality


def dense_fisher(factor):
    """Return the Fisher matrix of C, computed entry by entry from its definition."""
    d = len(factor)
    precision = np.linalg.inv(factor @ factor.T)
    changes = []
    for i, j in itertools.product(range(d), repeat=2):
        if i >= j:
            unit = np.zeros((d, d))
            unit[i, j] = 1.0
            changes.append(precision @ (unit @ factor.T + factor @ unit.T))
    return np.array([[0.5 * np.trace(a @ b) for b in changes] for a in changes])


@pytest.mark.parametrize("d", [1, 2, 5])
def test_floor_of_the_inverse_fisher_matrix(d):
    for seed in range(5):
        _, factor = random_gaussian(d, seed)
        of_factor = 1 / np.linalg.eigvalsh(dense_fisher(factor))[-1]
        of_mean = np.linalg.eigvalsh(factor @ factor.T)[0]
        assert_allclose(fisher_inverse_floor(factor), min(of_factor, of_mean), rtol=1e-9)


@given(st.integers(1, 6), st.integers(0, 10**6), st.floats(0.05, 20.0))
def test_the_valid_bound_on_the_fisher_matrix_holds_and_the_printed_one_fails_above_one(
    d, seed, scale
):
    _, factor = random_gaussian(d, seed)
    factor = factor * scale
    lambda_min = np.linalg.svd(factor, compute_uv=False)[-1] ** 2
    c = constants(lambda_min=lambda_min)
    floor = fisher_inverse_floor(factor)
    assert c.valid_fisher_floor <= floor * (1 + 1e-9) <= lambda_min * (1 + 2e-9)
    # For a multiple of the identity the valid bound is attained.
    root = np.sqrt(lambda_min) * np.eye(d)
    assert_allclose(fisher_inverse_floor(root), c.valid_fisher_floor, rtol=1e-9)
    if not 0.999 < lambda_min < 1.001:
        assert (c.printed_fisher_floor > fisher_inverse_floor(root)) == (lambda_min > 1)


def point(data, spec, mean, factor):
    """Return the gap and the Fisher-Rao gradient norm of a Gaussian."""
    train = rows()._replace(x=data.train_x, y=data.train_y)
    model = build(train=train, test=train, beta=spec.beta, expectation="exact")
    q = CovarianceFactor(model.backend, factor)
    oracle = model.full_oracle(mean, q, "hessian")
    objective = float(model.objectives(mean, q, oracle.value).objective)
    best = optimum_of(data, spec).attrs["objective"]
    return objective - best, float(model.fisher_norm(q, oracle))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6), st.floats(0.05, 5.0), st.floats(0.1, 10.0), st.sampled_from([1, 2, 4])
)
def test_the_pl_inequality_holds_with_the_valid_constant(seed, beta, scale, d):
    data = problem(n=15, d=d, seed=seed)
    spec = run_spec(data, "vn", 0.1, beta=beta)
    mean, factor = random_gaussian(d, seed)
    factor = scale * factor
    gap, norm = point(data, spec, mean, factor)
    lambda_min = np.linalg.svd(factor, compute_uv=False)[-1] ** 2
    c = constants(delta=beta, lambda_min=lambda_min)
    assert norm**2 >= 2 * c.valid_pl * gap * (1 - 1e-9)
    # Up to lambda_min = 1 / delta, the inequality holds with twice this constant (docs/theory.md).
    twice = beta * min(lambda_min, 1 / beta)
    assert norm**2 >= 2 * twice * gap * (1 - 1e-9)


def test_the_pl_inequality_with_the_printed_constant_fails_for_large_covariances():
    data = problem(n=4, scale=0.3)
    spec = run_spec(data, "vn", 0.1, beta=2.0)
    gap, norm = point(data, spec, np.zeros(2), 2.5 * np.eye(2))
    c = constants(delta=2.0, lambda_min=2.5**2)
    assert c.printed_pl > c.valid_pl
    assert norm**2 < 2 * c.printed_pl * gap
    assert_allclose(pl_constant(np.array([gap]), np.array([norm]), 0.0), norm**2 / (2 * gap))


# The Bures-Wasserstein geometry


@pytest.mark.parametrize("d", [1, 2, 5])
def test_wasserstein_distance_agrees_with_the_usual_formula(d):
    for seed in range(5):
        (m1, c1), (m2, c2) = random_gaussian(d, seed), random_gaussian(d, seed + 100)
        v1, v2 = c1 @ c1.T, c2 @ c2.T
        root = np.real(sqrtm(v1))
        cross = np.real(sqrtm(root @ v2 @ root))
        expected = (m1 - m2) @ (m1 - m2) + np.trace(v1 + v2 - 2 * cross)
        assert_allclose(squared_wasserstein(m1, c1, m2, c2), expected, rtol=1e-9)


def test_wasserstein_distance_is_accurate_and_independent_of_the_root():
    zero = np.zeros(3)
    root = np.diag([1.0, 2.0, 3.0])
    near = root + np.diag([1e-9, 0.0, 2e-9])
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
    assert_allclose(squared_wasserstein(zero, root, zero, near), 5e-18, rtol=1e-5)
    assert_allclose(squared_wasserstein(zero, root @ rotation, zero, near), 5e-18, rtol=1e-5)


@given(positive, positive)
def test_the_step_of_bw_gd_is_the_inverse_of_the_smoothness_along_it(smoothness, lambda_min):
    h = bw_step(smoothness, lambda_min)
    left = 1 - h * smoothness
    assert 0 < left < 1
    assert_allclose(h * (smoothness + 1 / (left**2 * lambda_min)), 1.0, rtol=1e-6)


@given(positive, st.floats(1.0, 100.0), st.floats(1.0, 100.0))
def test_the_printed_step_of_bw_gd_is_smaller(delta, condition, spread):
    smoothness = condition * delta
    lambda_min = spread * delta / (9 * smoothness**2)  # smallest value that the theorem allows
    assert lambert_step(delta, smoothness) <= bw_step(smoothness, lambda_min)
    # The step does not depend on the unit of length.
    assert_allclose(
        lambert_step(delta / smoothness, 1.0) / smoothness, lambert_step(delta, smoothness)
    )
