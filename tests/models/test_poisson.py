import contextlib
import itertools
import math
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from sklearn.linear_model import PoissonRegressor

from anchors import evaluations_to
from gvibench import numerics, solvers, steps
from gvibench.engine.optimum_search import descend
from gvibench.errors import Stopped
from gvibench.models.map_estimate import maximise_posterior
from gvibench.models.poisson import PoissonLoss
from gvibench.models.protocols import Rows
from gvibench.numerics.gaussian import CovarianceFactor
from problems import build, go, prepared_for, random_gaussian, rows_for


@pytest.fixture(scope="module")
def loss():
    return PoissonLoss(numerics.select("cpu"))


@pytest.mark.parametrize("mu", [-3.0, 0.4, 6.0])
@pytest.mark.parametrize("s2", [1e-6, 0.3, 4.0, 30.0])
@pytest.mark.parametrize("y", [0.0, 1.0, 30.0, 2000.0])
def test_predictions_equal_quadrature(loss, mu, s2, y):
    s = math.sqrt(s2)
    log_density = lambda z: stats.poisson.logpmf(y, np.exp(mu + s * z)) + stats.norm.logpdf(z)  # noqa: E731
    grid = np.linspace(-40, 40, 400_001)
    values = log_density(grid)
    top = values.max()
    peak, kept = grid[values.argmax()], grid[values > top - 60]
    pieces = [kept[0] - 1e-3, peak, kept[-1] + 1e-3]
    total = sum(
        integrate.quad(
            lambda z: np.exp(log_density(z) - top), a, b, epsabs=0, epsrel=1e-11, limit=400
        )[0]
        for a, b in itertools.pairwise(pieces)
    )
    found = loss.log_predictive(np.array([mu]), np.array([s2]), np.array([y]))
    assert_allclose(found, top + math.log(total), rtol=1e-9, atol=1e-9)
    assert_allclose(loss.response(np.array(mu), np.array(s2)), math.exp(mu + s2 / 2))


def test_the_negative_elbo_and_the_test_nll_contain_the_factorials():
    train, test = rows_for("poisson", offset=True), rows_for("poisson", 25, seed=1, offset=True)
    model = build(train, test, model="poisson", beta=0.5)
    mean, lower = random_gaussian(model.d)
    lower = 1e-9 * lower  # then the expected loss is the loss at the mean
    factor = CovarianceFactor(model.backend, lower)
    value = model.full_oracle(mean, factor, "hessian").value
    nll = -stats.poisson.logpmf(train.y, np.exp(train.x @ mean + train.offset)).sum()
    covariance = lower @ lower.T
    kl = 0.5 * (0.5 * (mean @ mean) - 4 - np.linalg.slogdet(0.5 * covariance)[1])
    assert_allclose(model.objectives(mean, factor, value).neg_elbo, nll + kl, rtol=1e-9)
    found, at_mean, accuracy = model.test_metrics(mean, factor)
    expected = -stats.poisson.logpmf(test.y, np.exp(test.x @ mean + test.offset))
    assert_allclose([found, at_mean], [expected.sum(), expected.mean()], rtol=1e-9)
    assert math.isnan(accuracy)


def test_the_map_estimate_is_that_of_scikit_learn():
    train = rows_for("poisson", n=200)
    model = build(train, model="poisson", beta=0.5)
    mode = maximise_posterior(model, np.zeros(4))
    fitted = PoissonRegressor(
        alpha=0.5 / 200, fit_intercept=False, solver="newton-cholesky", tol=1e-12
    ).fit(train.x, train.y)
    assert_allclose(mode.mean, fitted.coef_, atol=1e-8)


def test_overflow_is_a_divergence_at_a_constant_step():
    shared = {"model": "poisson", "mean_scale": 1.0, "iterations": 60}
    trace = go(prepared_for("poisson"), solver="gd", step=1.0, **shared)
    assert trace.attrs["status"] == "diverged"
    assert np.isfinite(trace.scalars["objective"]).all()


def test_auto_rejects_steps_that_overflow():
    """Far on the left the loss is almost linear, so a Newton step is much too long."""
    train = Rows(np.ones((30, 1)), np.full(30, 5.0))
    model = build(train, train, model="poisson", beta=1e-3)
    solver, rule = solvers.create("vn", {}), steps.create("auto", 1.0, {})
    state = solver.init(model, np.array([-8.0]), 0.1)
    with np.errstate(all="ignore"), contextlib.suppress(Stopped):
        assert np.isinf(solver.step(state, model, 1.0).oracle.value)
        for _ in range(40):
            state = rule.advance(solver, state, model)
    assert state.search.counts[0] > 0
    # Without a prior, the optimum is log(5) up to the variance 1 / 150 of q.
    assert_allclose(state.mean + 0.5 * state.factor.last_variance(), math.log(5), atol=1e-4)


def test_auto_needs_about_as_many_evaluations_as_the_prototype():
    """The prototype needed at most 40, 50 and 81 evaluations on problems of this size."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 6)) / math.sqrt(6)
    y = rng.poisson(np.exp(x @ rng.standard_normal(6) + 0.5)).astype(float)
    model = build(Rows(x, y), Rows(x, y), model="poisson", beta=1.0)
    mode = maximise_posterior(model, np.zeros(6))
    mean, factor, oracle, _ = descend(model, mode.mean, mode.oracle.curvature)
    optimum = float(model.objectives(mean, factor, oracle.value).objective)
    for solver, most in (("vn", 40), ("sr-vn", 50), ("gd-chol", 81)):
        for scale in (0.1, 0.3, 1.0):
            for seed in range(2):
                counts = evaluations_to(model, solver, optimum, (1e-8,), scale, seed)
                assert counts[0] <= most, (solver, scale, seed)


def test_visits_to_doctors_agree_with_scikit_learn():
    """RAND Health Insurance Experiment: with 20,190 rows, the mean of q is close to the mode."""
    folder = os.environ.get("GVIBENCH_DATA")
    file = Path(folder or "missing").parent / "counts/randhie.csv"
    if not file.exists():
        pytest.skip("GVIBENCH_DATA has no folder 'counts' beside it")
    table = np.genfromtxt(file, delimiter=",", names=True)
    y = table["mdvis"]
    columns = [table[name] for name in table.dtype.names if name != "mdvis"]
    x = np.column_stack(columns)
    x = np.column_stack([(x - x.mean(axis=0)) / x.std(axis=0), np.ones(len(y))])
    model = build(Rows(x, y), Rows(x, y), model="poisson", beta=1.0)
    mode = maximise_posterior(model, np.zeros(model.d))
    fitted = PoissonRegressor(
        alpha=1 / len(y), fit_intercept=False, solver="newton-cholesky", tol=1e-10
    ).fit(x, y)
    assert_allclose(mode.mean, fitted.coef_, atol=1e-7)
    mean, factor, _, _ = descend(model, mode.mean, mode.oracle.curvature)
    deviation = np.sqrt((factor.covariance_lower() ** 2).sum(axis=1))
    assert (np.abs(mean - mode.mean) < 0.05 * deviation).all()
