import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from gvibench.numerics.gaussian import CovarianceFactor
from problems import build, random_gaussian, rows


def test_the_oracle_equals_its_formulas():
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


@pytest.mark.parametrize("sigma", [0.3, 1.0, 3.0])
def test_test_nll_uses_the_normal_density(sigma):
    """The constant matters: without it the largest sigma would look best."""
    model = build(model="linear", sigma=sigma)
    mean, lower = random_gaussian(model.d)
    nll, at_mean, _ = model.test_metrics(mean, CovarianceFactor(model.backend, lower))
    x, y, _ = model.test
    density = stats.norm(x @ mean, sigma)
    assert_allclose(at_mean, -density.logpdf(y).mean())
    extra = np.einsum("ij,jk,ik->", x, lower @ lower.T, x) / (2 * sigma**2)
    assert_allclose(nll, -density.logpdf(y).sum() + extra)


def test_at_the_posterior_the_elbo_equals_the_evidence():
    model = build(model="linear", sigma=0.7, beta=0.5)
    x, y, _ = model.train
    precision = x.T @ x / 0.7**2 + 0.5 * np.eye(model.d)
    covariance = np.linalg.inv(precision)
    mean = covariance @ (x.T @ y) / 0.7**2
    factor = CovarianceFactor(model.backend, np.linalg.cholesky(covariance))
    oracle = model.full_oracle(mean, factor, "hessian")
    evidence = stats.multivariate_normal(
        np.zeros(len(y)), 0.7**2 * np.eye(len(y)) + x @ x.T / 0.5
    ).logpdf(y)
    objectives = model.objectives(mean, factor, oracle.value)
    assert_allclose(objectives.neg_elbo, -evidence)
