import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats
from sklearn.metrics import accuracy_score, log_loss

from gvibench import models
from gvibench import numerics as backends
from gvibench.errors import UserError
from gvibench.numerics.expectations.compiled.constants import FEW_FEATURES
from gvibench.numerics.gaussian import CovarianceFactor
from problems import (
    both_factors,
    build,
    dense_objective,
    dense_oracle,
    random_gaussian,
    rows,
    softplus,
    spec,
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


def blocked(model):
    """The same model without the fused oracles."""
    other = copy.copy(model)
    other._fused = other._fused_test = None
    return other


FEW = [(1, 1), (5, 2), (40, 3), (63, 4), (64, 8), (65, 13), (200, 30), (130, FEW_FEATURES)]
MANY = [(1, FEW_FEATURES + 1), (50, 34), (300, 51), (2500, 64), (700, 97), (40, 130)]


@pytest.mark.parametrize("expectation", ["exact", "piecewise", "gauss-hermite"])
@pytest.mark.parametrize(("n", "d"), FEW + MANY)
def test_fused_and_blocked_oracles_agree(n, d, expectation):
    model = build(rows(n=n, d=d, scale=d**-0.5), expectation=expectation, beta=0.3)
    assert model._fused is not None
    mean, lower = random_gaussian(d)
    lower = np.tril(lower, -1) / d + np.diag(np.diag(lower))  # of many features too, well-behaved
    for factor in both_factors(model, lower):
        for kind in ("hessian", "whitened"):
            fused = model.full_oracle(mean, factor, kind)
            other = blocked(model).full_oracle(mean, factor, kind)
            for one, two in zip(fused[:3], other[:3], strict=True):
                assert_allclose(one, two, rtol=0, atol=1e-12 * np.abs(two).max())
            assert (fused.curvature == fused.curvature.T).all()
            assert_allclose(
                model.test_metrics(mean, factor),
                blocked(model).test_metrics(mean, factor),
                rtol=1e-12,
            )
            again = model.full_oracle(mean, factor, kind)
            assert all((one == two).all() for one, two in zip(fused[:3], again[:3], strict=True))


@pytest.mark.parametrize("d", [4, FEW_FEATURES + 1])
def test_a_fused_oracle_of_nonsense_is_not_finite(d):
    model = build(rows(d=d))
    mean, lower = random_gaussian(d)
    mean[1] = np.nan
    oracle = model.full_oracle(mean, CovarianceFactor(model.backend, lower), "hessian")
    assert np.isnan(oracle.value)


def test_only_classes_in_double_precision_are_fused():
    assert build(model="linear")._fused is None
    single = models.build(spec(), backends.select("cpu", "float32"), rows(), rows())
    assert single._fused is None


@pytest.mark.parametrize("d", [4, FEW_FEATURES + 1])
def test_wrong_arrays_do_not_reach_the_fused_oracle(d):
    fused = build(rows(d=d))._fused
    mean, lower = random_gaussian(d)
    for wrong in (mean[:3], mean[:, None], mean.astype(np.float32)):
        with pytest.raises(ValueError, match="float64 array of shape"):
            fused(wrong, lower, False, False)
    straight = fused(mean, lower, False, False)
    scattered = fused(np.repeat(mean, 2)[::2], np.asfortranarray(lower), False, False)
    assert all((one == two).all() for one, two in zip(straight, scattered, strict=True))


def test_row_blocks_do_not_change_the_sums(monkeypatch):
    model = blocked(build())
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(model.backend, lower)
    whole = model.full_oracle(mean, factor, "whitened")
    whole_test = model.test_metrics(mean, factor)
    monkeypatch.setattr(type(model.backend), "block_bytes", 7 * 4 * 8)
    monkeypatch.setattr(type(model.backend), "block_rows", 1)
    blocks = model.full_oracle(mean, factor, "whitened")
    for one, other in zip(whole[:3], blocks[:3], strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-13)
    assert_allclose(whole_test, model.test_metrics(mean, factor), rtol=1e-12)


def test_objective_conventions():
    train, beta, gamma = rows(n=10, d=3), 0.7, 0.4
    model = build(train, beta=beta, gamma=gamma)
    mean, lower = random_gaussian(3)
    covariance = lower @ lower.T
    value = dense_oracle(train, mean, covariance, beta)[0]
    log_det = np.linalg.slogdet(covariance)[1]
    square, trace = mean @ mean, np.trace(covariance)
    for factor in both_factors(model, lower):
        found = model.objectives(mean, factor, model.full_oracle(mean, factor, "hessian").value)
        assert_allclose(
            found.objective, value + beta / 2 * (square + trace) - gamma / 2 * log_det, rtol=1e-10
        )
        # KL(q | N(0, I / beta)) + E loss, with the KL divergence from its definition
        kl = 0.5 * (beta * trace + beta * square - 3 - log_det - 3 * math.log(beta))
        assert_allclose(found.neg_elbo, value + kl, rtol=1e-10)
        assert_allclose(found.train_elbo_paper, value + beta / 2 * square - log_det / 2, rtol=1e-10)


def test_derivatives_of_the_objective():
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


def test_test_metrics_against_scikit_learn():
    test = rows(n=30, d=4, seed=5)
    model = build(test=test)
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(model.backend, lower)
    nll, at_mean, accuracy = model.test_metrics(mean, factor)
    probability = special.expit(test.x @ mean)
    assert_allclose(at_mean, log_loss(test.y, probability), rtol=1e-12)
    assert_allclose(accuracy, accuracy_score(test.y, np.sign(test.x @ mean)))
    assert_allclose(nll, dense_oracle(test, mean, lower @ lower.T, 0.0)[0], rtol=1e-10)


def test_linear_model_against_its_formulas():
    train = rows(real=True)
    sigma, beta = 0.7, 0.3
    model = build(train, model="linear", sigma=sigma, beta=beta)
    mean, lower = random_gaussian(4)
    covariance = lower @ lower.T
    factor = CovarianceFactor(model.backend, lower)
    oracle = model.full_oracle(mean, factor, "hessian")
    residual = train.y - train.x @ mean
    value = residual @ residual + np.trace(train.x @ covariance @ train.x.T)
    assert_allclose(oracle.value, value / (2 * sigma**2))
    assert_allclose(oracle.gradient, -train.x.T @ residual / sigma**2 + beta * mean)
    assert_allclose(oracle.curvature, train.x.T @ train.x / sigma**2 + beta * np.eye(4))
    assert math.isnan(model.test_metrics(mean, factor)[2])


def test_non_convex_penalty_is_in_value_and_gradient_only():
    convex, penalised = build(), build(model="non-convex")
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(convex.backend, lower)
    plain = convex.full_oracle(mean, factor, "hessian")
    other = penalised.full_oracle(mean, factor, "hessian")
    assert_allclose(other.value - plain.value, np.sum(mean**2 / (1 + mean**2)), rtol=1e-12)
    assert_allclose(other.curvature, plain.curvature, rtol=1e-14)
    h = 1e-6
    for j in range(4):
        e = h * np.eye(4)[j]
        slope = (penalised.penalty(mean + e)[0] - penalised.penalty(mean - e)[0]) / (2 * h)
        assert_allclose((other.gradient - plain.gradient)[j], slope, atol=1e-8)
    for name in ("objective", "neg_elbo", "train_elbo_paper"):
        difference = getattr(penalised.objectives(mean, factor, other.value), name) - getattr(
            convex.objectives(mean, factor, plain.value), name
        )
        assert_allclose(difference, other.value - plain.value, rtol=1e-9)


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
    one, again, other = (model.oracle(mean, factor, "hessian", k) for k in (7, 7, 8))
    assert np.array_equal(one.gradient, again.gradient)
    assert not np.array_equal(one.gradient, other.gradient)


def test_loss_at_a_point_is_stable():
    loss = build().loss
    t = np.array([-800.0, -30.0, -1e-3, 0.0, 1e-3, 30.0, 800.0])
    value, slope, curvature = loss.at(-t, np.ones_like(t))
    assert_allclose(value, softplus(t), rtol=1e-14)
    assert_allclose(slope, -special.expit(t), rtol=1e-14)
    assert_allclose(curvature, special.expit(t) * special.expit(-t), rtol=1e-14)


def test_logistic_model_refuses_real_targets():
    with pytest.raises(UserError, match="use model 'linear'"):
        build(rows(real=True))


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
def test_test_nll_of_the_linear_model_is_that_of_the_normal_density(sigma):
    """With its constant: otherwise the largest sigma looks best."""
    model = build(model="linear", sigma=sigma)
    mean, lower = random_gaussian(model.d)
    nll, at_mean, _ = model.test_metrics(mean, CovarianceFactor(model.backend, lower))
    x, y = model.test
    density = stats.norm(x @ mean, sigma)
    assert_allclose(at_mean, -density.logpdf(y).mean())
    extra = np.einsum("ij,jk,ik->", x, lower @ lower.T, x) / (2 * sigma**2)
    assert_allclose(nll, -density.logpdf(y).sum() + extra)


def test_the_linear_models_negative_elbo_bounds_the_evidence():
    model = build(model="linear", sigma=0.7, beta=0.5)
    x, y = model.train
    precision = x.T @ x / 0.7**2 + 0.5 * np.eye(model.d)
    covariance = np.linalg.inv(precision)
    mean = covariance @ (x.T @ y) / 0.7**2
    factor = CovarianceFactor(model.backend, np.linalg.cholesky(covariance))
    oracle = model.full_oracle(mean, factor, "hessian")
    evidence = stats.multivariate_normal(
        np.zeros(len(y)), 0.7**2 * np.eye(len(y)) + x @ x.T / 0.5
    ).logpdf(y)
    found = model.objectives(mean, factor, oracle.value)
    assert_allclose(found.neg_elbo, -evidence)


@pytest.mark.parametrize("expectation", ["piecewise", "gauss-hermite"])
def test_test_nll_is_exact_where_exact_values_are_recorded(expectation):
    fields = {"expectation": expectation, "pieces": 4, "nodes": 3}
    model = build(**fields, record=("objective_exact",))
    mean, lower = random_gaussian(model.d)
    factor = CovarianceFactor(model.backend, lower)
    exact = build(expectation="exact").test_metrics(mean, factor)[0]
    assert_allclose(model.test_metrics(mean, factor)[0], exact)
    assert abs(float(build(**fields).test_metrics(mean, factor)[0]) - float(exact)) > 1e-6
