import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special
from sklearn.metrics import accuracy_score, log_loss

from gvibench.errors import UserError
from gvibench.numerics.gaussian import CovarianceFactor
from problems import (
    both_factors,
    build,
    dense_objective,
    dense_oracle,
    random_gaussian,
    rows,
    softplus,
)


@pytest.mark.parametrize("which", [0, 1], ids=["covariance", "precision"])
def test_oracle_equals_the_plain_formulas(which):
    train = rows(n=12, d=3)
    model = build(train)
    mean, lower = random_gaussian(3)
    factor = both_factors(model, lower)[which]
    value, gradient, hessian = dense_oracle(train, mean, lower @ lower.T, model.beta)
    oracle = model.full_oracle(mean, factor, "hessian")
    assert_allclose(oracle.value, value, rtol=1e-10)
    assert_allclose(oracle.gradient, gradient, atol=1e-10)
    assert_allclose(oracle.curvature, hessian, atol=1e-10)


@pytest.mark.parametrize("which", [0, 1], ids=["covariance", "precision"])
def test_whitened_curvature_is_the_congruence_of_the_hessian(which):
    model = build()
    mean, lower = random_gaussian(4)
    factor = both_factors(model, lower)[which]
    hessian = model.full_oracle(mean, factor, "hessian")
    white = model.full_oracle(mean, factor, "whitened")
    assert_allclose(white.curvature, factor.congruence(hessian.curvature), rtol=1e-12, atol=1e-12)
    assert_allclose(white.gradient, hessian.gradient, rtol=1e-13)
    assert_allclose(
        model.fisher_norm(factor, white), model.fisher_norm(factor, hessian), rtol=1e-11
    )


def test_fisher_norm_is_the_formula():
    model = build()
    mean, lower = random_gaussian(4)
    oracle = model.full_oracle(mean, CovarianceFactor(model.backend, lower), "hessian")
    g, h = oracle.gradient, oracle.curvature
    square = g @ lower @ lower.T @ g
    square += 0.5 * np.linalg.norm(lower.T @ h @ lower - model.gamma * np.eye(4)) ** 2
    for factor in both_factors(model, lower):
        assert_allclose(model.fisher_norm(factor, oracle), np.sqrt(square), rtol=1e-11)


def test_objectives_equal_their_definitions():
    train, beta, gamma = rows(n=10, d=3), 0.7, 0.4
    model = build(train, beta=beta, gamma=gamma)
    mean, lower = random_gaussian(3)
    covariance = lower @ lower.T
    value = dense_oracle(train, mean, covariance, beta)[0]
    log_det = np.linalg.slogdet(covariance)[1]
    square, trace = mean @ mean, np.trace(covariance)
    for factor in both_factors(model, lower):
        objectives = model.objectives(
            mean, factor, model.full_oracle(mean, factor, "hessian").value
        )
        assert_allclose(
            objectives.objective,
            value + beta / 2 * (square + trace) - gamma / 2 * log_det,
            rtol=1e-10,
        )
        # KL(q | N(0, I / beta)) + E loss, with the KL divergence from its definition
        kl = 0.5 * (beta * trace + beta * square - 3 - log_det - 3 * math.log(beta))
        assert_allclose(objectives.neg_elbo, value + kl, rtol=1e-10)
        assert_allclose(
            objectives.train_elbo_paper, value + beta / 2 * square - log_det / 2, rtol=1e-10
        )


def test_gradient_and_curvature_are_derivatives_of_the_objective():
    """dL/dm = g, dL/dV = (H - gamma S)/2 and dL/dC = (H - gamma S) C, by differences."""
    train, beta, gamma = rows(n=8, d=3), 0.3, 0.8
    model = build(train, beta=beta, gamma=gamma)
    mean, lower = random_gaussian(3)
    oracle = model.full_oracle(mean, CovarianceFactor(model.backend, lower), "hessian")
    slack = oracle.curvature - gamma * np.linalg.inv(lower @ lower.T)

    def objective(m, c):
        return dense_objective(train, m, c @ c.T, beta, gamma)

    def objective_v(v):
        return dense_objective(train, mean, v, beta, gamma)

    h = 1e-5
    rng = np.random.default_rng(0)
    for _ in range(3):
        dm, dc = rng.standard_normal(3), rng.standard_normal((3, 3))
        dv = dc + dc.T
        along_m = (objective(mean + h * dm, lower) - objective(mean - h * dm, lower)) / (2 * h)
        along_c = (objective(mean, lower + h * dc) - objective(mean, lower - h * dc)) / (2 * h)
        v = lower @ lower.T
        along_v = (objective_v(v + h * dv) - objective_v(v - h * dv)) / (2 * h)
        assert_allclose(oracle.gradient @ dm, along_m, rtol=1e-6)
        assert_allclose(np.sum((slack @ lower) * dc), along_c, rtol=1e-6)
        assert_allclose(np.sum(0.5 * slack * dv), along_v, rtol=1e-6)


def test_test_metrics_equal_those_of_scikit_learn():
    test = rows(n=30, d=4, seed=5)
    model = build(test=test)
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(model.backend, lower)
    nll, at_mean, accuracy = model.test_metrics(mean, factor)
    probability = special.expit(test.x @ mean)
    assert_allclose(at_mean, log_loss(test.y, probability), rtol=1e-12)
    assert_allclose(accuracy, accuracy_score(test.y, np.sign(test.x @ mean)))
    assert_allclose(nll, dense_oracle(test, mean, lower @ lower.T, 0.0)[0], rtol=1e-10)


@pytest.mark.parametrize("which", [0, 1], ids=["covariance", "precision"])
@pytest.mark.parametrize("kind", ["hessian", "whitened"])
def test_stochastic_oracle_is_unbiased(which, kind):
    model = build(expectation="stochastic", batch=10, samples=3)
    mean, lower = random_gaussian(4)
    factor = both_factors(model, lower)[which]
    exact = model.full_oracle(mean, factor, kind)
    draws = [model.oracle(mean, factor, kind, iteration) for iteration in range(4000)]
    for field in ("value", "gradient", "curvature"):
        values = np.array([getattr(draw, field) for draw in draws])
        error = np.abs(values.mean(axis=0) - getattr(exact, field))
        deviation = values.std(axis=0) / np.sqrt(len(draws))
        assert np.all(error <= 5 * deviation + 1e-12)


def test_stochastic_oracle_is_seeded_by_iteration():
    model = build(expectation="stochastic", batch=10)
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(model.backend, lower)
    first, again, other = (model.oracle(mean, factor, "hessian", k) for k in (7, 7, 8))
    assert np.array_equal(first.gradient, again.gradient)
    assert not np.array_equal(first.gradient, other.gradient)


def test_the_loss_is_stable_for_large_arguments():
    loss = build().loss
    t = np.array([-800.0, -30.0, -1e-3, 0.0, 1e-3, 30.0, 800.0])
    value, slope, curvature = loss.at(-t, np.ones_like(t))
    assert_allclose(value, softplus(t), rtol=1e-14)
    assert_allclose(slope, -special.expit(t), rtol=1e-14)
    assert_allclose(curvature, special.expit(t) * special.expit(-t), rtol=1e-14)


def test_the_logistic_model_rejects_real_targets():
    with pytest.raises(UserError, match="use model 'linear'"):
        build(rows(real=True))


@pytest.mark.parametrize("expectation", ["piecewise", "gauss-hermite"])
def test_test_nll_is_exact_if_exact_values_are_recorded(expectation):
    fields = {"expectation": expectation, "pieces": 4, "nodes": 3}
    model = build(**fields, record=("objective_exact",))
    mean, lower = random_gaussian(model.d)
    factor = CovarianceFactor(model.backend, lower)
    exact = build(expectation="exact").test_metrics(mean, factor)[0]
    assert_allclose(model.test_metrics(mean, factor)[0], exact)
    assert abs(float(build(**fields).test_metrics(mean, factor)[0]) - float(exact)) > 1e-6
