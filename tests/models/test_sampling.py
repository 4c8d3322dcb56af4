"""Minibatches and draws: unbiased estimators, epochs, and what each estimator costs in noise."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from gvibench.models.sampling import Sampling
from problems import both_factors, build, go, random_gaussian, rows

ESTIMATORS = ("price", "reparam", "stl")
KINDS = ("hessian", "whitened", "factor")


def exact_of(model, mean, factor, kind):
    oracle = model.full_oracle(mean, factor, "hessian")
    root = factor.root()
    forms = {
        "hessian": oracle.curvature,
        "whitened": root.T @ oracle.curvature @ root,
        "factor": oracle.curvature @ root,
    }
    return oracle.gradient, forms[kind]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_estimators_are_unbiased(estimator, kind, which, gamma):
    settings_ = {"expectation": "stochastic", "batch": 10, "samples": 4, "estimator": estimator}
    model = build(rows(30, 3), gamma=gamma, **settings_)
    mean, lower = random_gaussian(3)
    factor = both_factors(model, lower)[which]
    expected = np.concatenate([np.ravel(part) for part in exact_of(model, mean, factor, kind)])
    estimates = []
    for iteration in range(3000):
        oracle = model.oracle(mean, factor, kind, iteration)
        estimates.append(np.concatenate([oracle.gradient, np.ravel(oracle.curvature)]))
    estimates = np.array(estimates)
    error = estimates.std(axis=0) / np.sqrt(len(estimates))
    scores = (estimates.mean(axis=0) - expected) / np.maximum(error, 1e-12)
    assert np.abs(scores).max() < 4.5


def test_sticking_the_landing_has_no_noise_at_the_exact_posterior():
    # The posterior of the linear model is Gaussian, so that q can be exact.
    train = rows(30, 3, real=True)
    chosen = {"expectation": "stochastic", "batch": "all", "samples": 5, "estimator": "stl"}
    model = build(train, model="linear", **chosen)
    precision = train.x.T @ train.x + model.beta * np.eye(3)
    mean = np.linalg.solve(precision, train.x.T @ train.y)
    for factor in both_factors(model, np.linalg.cholesky(np.linalg.inv(precision))):
        oracle = model.oracle(mean, factor, "hessian", 7)
        assert_allclose(oracle.gradient, 0.0, atol=1e-10)
        assert_allclose(oracle.curvature, precision, rtol=1e-10)


def test_draws_come_with_their_gradients():
    model = build(rows(20, 3), expectation="stochastic", batch="all", samples=6)
    mean, lower = random_gaussian(3)
    for factor in both_factors(model, lower):
        oracle = model.oracle(mean, factor, "draws", 2)
        theta, gradients = oracle.curvature
        _, z = model.sampling.draw(model.n, model.d, 2)
        assert_allclose(theta, mean + z @ factor.root().T, rtol=1e-10)
        a = -model.train.y[:, None] * model.train.x
        shares = 1 / (1 + np.exp(-theta @ a.T))
        assert_allclose(gradients, shares @ a + model.beta * theta, rtol=1e-10)
        assert_allclose(oracle.gradient, gradients.mean(axis=0), rtol=1e-12)


@settings(deadline=None)
@given(n=st.integers(1, 40), batch=st.integers(1, 50), seed=st.integers(0, 100))
def test_an_epoch_uses_each_row_once(n, batch, seed):
    sampling = Sampling(batch, 2, seed, minibatches="epoch")
    count = -(-n // min(batch, n))
    for epoch in range(2):
        drawn = [sampling.draw(n, 1, epoch * count + k)[0] for k in range(count)]
        assert sorted(itertools.chain.from_iterable(drawn)) == list(range(n))
        assert {len(part) for part in drawn[:-1]} <= {min(batch, n)}
    assert sampling.share(n) * count == pytest.approx(1.0)


@pytest.mark.parametrize("batch", [2, 3])
def test_the_weighted_mean_over_an_epoch_is_the_exact_gradient(batch):
    # With seven rows the last batch is short. Its rows have a larger weight.
    train = rows(7, 3, real=True)
    chosen = {"expectation": "stochastic", "batch": batch, "samples": 1, "minibatches": "epoch"}
    model = build(train, model="linear", **chosen)
    mean = np.array([0.3, -0.2, 0.5])
    # Without a covariance all draws are equal to the mean.
    factor = both_factors(model, 1e-12 * np.eye(3))[0]
    exact, _ = exact_of(model, mean, factor, "hessian")
    total = np.zeros(3)
    for iteration in range(-(-7 // batch)):
        size = len(model.sampling.draw(7, 3, iteration)[0])
        total += size / 7 * model.oracle(mean, factor, "hessian", iteration).gradient
    assert_allclose(total, exact, rtol=1e-10)


def test_each_batch_of_an_epoch_is_unbiased():
    sampling = Sampling(3, 1, 0, minibatches="epoch")
    counts = np.zeros(7)
    for epoch in range(4000):
        counts[sampling.draw(7, 1, 3 * epoch + 2)[0]] += 1  # the short last batch
    assert_allclose(counts / 4000, 1 / 7, atol=4 * np.sqrt(1 / 7 * 6 / 7 / 4000))


def test_data_passes_of_epochs():
    settings = {"batch": 15, "samples": 1, "minibatches": "epoch"}
    trace = go(expectation="stochastic", **settings, iterations=9)
    assert_allclose(trace.scalars["data_passes"], np.arange(1, 11) / 3)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("solver", ["vn", "sr-vn", "bw-gd", "gd-chol", "fr-r", "advi"])
def test_each_geometry_runs_with_each_estimator(solver, estimator):
    chosen = {"expectation": "stochastic", "batch": "all", "samples": 200}
    trace = go(solver=solver, estimator=estimator, step=0.01, iterations=60, **chosen)
    objective = trace.scalars["objective"]
    assert objective[-1] < objective[0]
    assert trace.attrs["status"] != "diverged"
