"""Test the measures of a Gaussian against printed values, quadrature, SciPy and scikit-learn."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, linalg, special, stats
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from anchors import diabetes
from gvibench.engine import importance
from gvibench.engine.importance import log_weights, pareto_shape, reading
from gvibench.engine.measures import Gaussian, area_under_curve, measure, reliability
from gvibench.engine.optimum_search import descend
from gvibench.models.map_estimate import maximise_posterior
from gvibench.models.protocols import Rows
from gvibench.models.reduction import reduce_problem
from gvibench.numerics.gaussian import CovarianceFactor, PrecisionFactor
from problems import build, random_gaussian, rows


def optimum_and_laplace(model):
    """Return the optimal Gaussian and the Laplace approximation."""
    mode = maximise_posterior(model, np.zeros(model.d))
    lower = model.backend.cholesky(mode.oracle.curvature, "H")
    mean, factor, _, _ = descend(model, mode.mean, mode.oracle.curvature)
    return Gaussian(mean, factor), Gaussian(mode.mean, PrecisionFactor(model.backend, lower))


def breast_cancer(folder):
    x, labels = load_svmlight_file(str(folder / "breast-cancer_scale"))
    y = np.where(labels == labels.max(), 1.0, -1.0)
    split = train_test_split(x.toarray(), y, test_size=0.2, random_state=42)
    return build(Rows(split[0], split[2]), Rows(split[1], split[3]), beta=0.1)


def test_printed_values_of_diabetes(libsvm_data):
    model = diabetes(libsvm_data)
    optimum, laplace = optimum_and_laplace(model)
    best = measure(model, *optimum, optimum=optimum)
    assert best["pred_nll"] == pytest.approx(0.5081411337, abs=1e-10)
    assert best["brier"] == pytest.approx(0.1680758888, abs=1e-10)
    assert best["auc"] == pytest.approx(0.8185491276, abs=1e-10)
    assert best["ece"] == pytest.approx(0.080, abs=5e-4)
    assert best["neg_elbo"] == pytest.approx(315.5554293374, abs=1e-9)
    assert best["draws"] == 100_000
    # Two independent estimates of 315.5502(4).
    assert best["log_evidence"] == pytest.approx(-315.5502, abs=4 * 5.7e-4)
    assert best["log_evidence_error"] == pytest.approx(4e-4, abs=1e-4)
    assert best["ess"] == pytest.approx(0.99, abs=5e-3)
    assert best["evidence_gap"] == pytest.approx(0.0053, abs=1e-3)
    assert best["elbo_sampled"] == pytest.approx(-best["neg_elbo"], abs=1.5e-3)
    assert best["reading"] == "good"
    assert best["kl"] == pytest.approx(0, abs=1e-12)
    assert best["w2"] == pytest.approx(0, abs=1e-9)
    assert best["notes"] == {}
    other = measure(model, *laplace, optimum=optimum)
    assert other["w2"] == pytest.approx(0.1057004833, abs=2e-9)
    assert other["kl"] == pytest.approx(0.0269, abs=5e-5)
    assert other["log_evidence"] == pytest.approx(-315.5513, abs=4 * 1.3e-3)


def test_printed_values_of_breast_cancer(libsvm_data):
    model = breast_cancer(libsvm_data)
    optimum, laplace = optimum_and_laplace(model)
    best = measure(model, *optimum)
    assert best["log_evidence"] == pytest.approx(-59.5482, abs=0.01)
    assert best["evidence_gap"] == pytest.approx(0.11, abs=0.01)
    assert best["ess"] == pytest.approx(0.64, abs=0.1)
    assert 0.45 < best["k_hat"] < 0.7
    assert measure(model, *laplace, draws=0, optimum=optimum)["kl"] == pytest.approx(
        0.539, abs=5e-4
    )


def test_the_evidence_of_a_plane_is_that_of_quadrature():
    model = build(rows(n=30, d=2), beta=0.7)
    optimum, _ = optimum_and_laplace(model)

    def density(b, a):
        theta = np.array([a, b])
        loss = np.logaddexp(0, -model.train.y * (model.train.x @ theta)).sum()
        return math.exp(-loss - 0.35 * (a * a + b * b)) * 0.7 / (2 * math.pi)

    evidence, _ = integrate.dblquad(density, -12, 12, -12, 12, epsabs=1e-14)
    found = measure(model, *optimum)
    assert abs(found["log_evidence"] - math.log(evidence)) < 4 * found["log_evidence_error"]
    assert 0 < found["log_evidence_error"] < 1e-2
    assert found["evidence_gap"] > 0


def test_the_posterior_of_linear_regression_is_exact():
    model = build(model="linear", beta=0.5, sigma=0.7)
    x, y, _ = model.train
    precision = x.T @ x / 0.49 + 0.5 * np.eye(model.d)
    mean = np.linalg.solve(precision, x.T @ y / 0.49)
    factor = PrecisionFactor(model.backend, np.linalg.cholesky(precision))
    found = measure(model, mean, factor, draws=1000)
    covariance = 0.49 * np.eye(len(y)) + x @ x.T / 0.5
    evidence = stats.multivariate_normal(cov=covariance).logpdf(y)
    assert found["log_evidence"] == pytest.approx(evidence, abs=1e-8)
    assert found["log_evidence_error"] < 1e-8
    assert found["k_hat"] == 0.0
    assert found["reading"] == "good"
    test = model.test
    predictive = test.x @ np.linalg.inv(precision) @ test.x.T + 0.49 * np.eye(len(test.y))
    sd = np.sqrt(np.diag(predictive))
    nll = -stats.norm.logpdf(test.y, test.x @ mean, sd).mean()
    assert found["pred_nll"] == pytest.approx(nll, abs=1e-12)
    assert all(math.isnan(found[name]) for name in ("brier", "auc", "ece"))
    assert found["notes"]["auc"] == "the targets are not classes"
    assert_allclose(model.loss.response(test.y, sd), test.y)


def test_class_measures_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    share = np.round(rng.random(500), 2)  # with ties
    positive = rng.random(500) < share
    assert area_under_curve(share, positive) == pytest.approx(roc_auc_score(positive, share))
    model = build()
    mean, lower = random_gaussian(model.d)
    factor = CovarianceFactor(model.backend, lower)
    found = measure(model, mean, factor, draws=0)
    white = model.test.x @ lower
    predicted = model.loss.response(model.test.x @ mean, np.vecdot(white, white))
    expected = brier_score_loss(model.test.y > 0, predicted)
    assert found["brier"] == pytest.approx(expected, abs=1e-14)
    assert found["auc"] == pytest.approx(roc_auc_score(model.test.y > 0, predicted))
    assert found["notes"]["k_hat"] == "no draws were requested"


def test_the_area_needs_both_classes():
    assert math.isnan(area_under_curve(np.array([0.1, 0.2]), np.array([True, True])))


@pytest.mark.parametrize("count", [1, 7, 10, 154])
def test_bins_have_equal_sizes_and_cover_all_rows(count):
    rng = np.random.default_rng(1)
    share = rng.random(count)
    positive = rng.random(count) < share
    found = reliability(share, positive)
    sizes = np.array(found["bin_count"])
    assert sizes.sum() == count
    assert sizes.max() - sizes.min() <= 1
    assert len(sizes) == min(10, count)
    assert sizes @ found["bin_predicted"] == pytest.approx(share.sum())
    assert sizes @ found["bin_observed"] == pytest.approx(positive.sum())


def test_predictions_far_in_the_tail():
    loss = build().loss

    def truth(mu, s2):
        def integrand(x):
            return special.expit(x) * math.exp(-0.5 * (x - mu) ** 2 / s2)

        peak = mu + s2 if mu + s2 < 0 else 0.0
        total, _ = integrate.quad(
            lambda x: integrand(x + peak), -40 * s2**0.5, 40 * s2**0.5, epsabs=0, limit=500
        )
        return math.log(total / math.sqrt(2 * math.pi * s2))

    for mu, s2 in [(-3.0, 0.5), (-12.0, 1.0), (-25.0, 4.0), (-60.0, 9.0), (-30.0, 30.0)]:
        found = loss.log_predictive(np.array([mu]), np.array([s2]), np.array([1.0]))[0]
        assert found == pytest.approx(truth(mu, s2), abs=1e-7)
    certain = loss.log_predictive(np.array([-800.0, 5.0]), np.zeros(2), np.ones(2))
    assert_allclose(certain, [-800.0, -math.log1p(math.exp(-5))], rtol=1e-9)


def test_distances_are_those_of_dense_matrices():
    model = build()
    mean, lower = random_gaussian(model.d, seed=3)
    other_mean, other_lower = random_gaussian(model.d, seed=4)
    q = Gaussian(mean, CovarianceFactor(model.backend, lower))
    other = Gaussian(other_mean, CovarianceFactor(model.backend, other_lower))
    v, w = lower @ lower.T, other_lower @ other_lower.T
    offset = mean - other_mean
    inverse = np.linalg.inv(w)
    kl = 0.5 * (np.trace(inverse @ v) + offset @ inverse @ offset - model.d)
    kl += 0.5 * (np.linalg.slogdet(w)[1] - np.linalg.slogdet(v)[1])
    root = linalg.sqrtm(v)
    square = offset @ offset + np.trace(v + w - 2 * linalg.sqrtm(root @ w @ root).real)
    found = measure(model, *q, draws=0, optimum=other)
    assert found["kl"] == pytest.approx(kl, rel=1e-12)
    assert found["w2"] == pytest.approx(math.sqrt(square), rel=1e-10)


def independent_shape(weights):
    """Return k-hat as in the reference implementation of Vehtari et al., one candidate at a time.

    Weights are scaled differently, and sums are written as loops.
    """
    tail = math.ceil(min(0.2 * len(weights), 3 * len(weights) ** 0.5))
    weights = np.sort(np.exp(weights - np.mean(weights)))
    x = weights[-tail:] - weights[-tail - 1]
    n = len(x)
    m = 30 + int(n**0.5)
    quarter = x[int(n / 4 + 0.5) - 1]
    theta = [1 / x[-1] + (1 - (m / (j - 0.5)) ** 0.5) / (3 * quarter) for j in range(1, m + 1)]

    def profile(t):
        k = np.mean(np.log(1 - t * x))
        return n * (math.log(-t / k) - k - 1)

    values = [profile(t) for t in theta]
    posterior = [1 / sum(math.exp(other - value) for other in values) for value in values]
    t = sum(p * t for p, t in zip(posterior, theta, strict=True))
    k = np.mean(np.log(1 - t * x))
    return (n * k + 5) / (n + 10)


@pytest.mark.parametrize("shape", [0.1, 0.5, 0.9])
def test_the_shape_of_a_tail(shape):
    weights = stats.genpareto(shape).rvs(40_000, random_state=0)
    found = pareto_shape(np.log(weights))
    assert found == pytest.approx(independent_shape(np.log(weights)), abs=1e-9)
    assert found == pytest.approx(shape, abs=0.12)


def test_weights_without_a_tail():
    assert pareto_shape(np.full(1000, -300.0)) == 0.0
    assert math.isnan(pareto_shape(np.zeros(10)))
    assert math.isnan(pareto_shape(np.array([*np.zeros(1000), np.inf])))


def test_readings():
    assert [reading(k) for k in (0.2, 0.5, 0.69, 0.7, 3.0)] == [
        *("good", "usable", "usable", "unreliable", "unreliable")
    ]
    assert reading(math.nan) == "unknown"


def test_draws_do_not_depend_on_the_blocks(monkeypatch):
    model = build()
    mean, lower = random_gaussian(model.d)
    factor = CovarianceFactor(model.backend, lower)
    expected = log_weights(model, mean, factor, seed=5, draws=300)
    monkeypatch.setattr(importance, "DRAWS_PER_BLOCK", 7)
    monkeypatch.setattr(importance, "ROWS_PER_BLOCK", 11)
    found = log_weights(model, mean, factor, seed=5, draws=300)
    assert_allclose(found, expected, rtol=1e-12)
    theta = mean + np.random.default_rng([5, 3]).standard_normal((300, model.d)) @ lower.T
    q = stats.multivariate_normal(mean, lower @ lower.T).logpdf(theta)
    prior = stats.multivariate_normal(np.zeros(model.d), np.eye(model.d) / 0.5).logpdf(theta)
    loss = np.logaddexp(0, -model.train.y * (theta @ model.train.x.T)).sum(axis=1)
    assert_allclose(found, prior - loss - q, rtol=1e-10)


def test_many_rows_use_fewer_draws(monkeypatch):
    model = build()
    mean, lower = random_gaussian(model.d)
    factor = CovarianceFactor(model.backend, lower)
    monkeypatch.setattr(importance, "MAX_EVALUATIONS", 2000 * model.n)
    assert measure(model, mean, factor, draws=5000)["draws"] == 2000
    monkeypatch.setattr(importance, "MAX_EVALUATIONS", 1)
    assert measure(model, mean, factor, draws=5000)["draws"] == 1000


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gamma": 0.5}, "with gamma 0.5, q does not approximate the posterior"),
        ({"model": "non-convex"}, "a penalty on the mean of q belongs to no posterior"),
    ],
)
def test_measures_without_a_posterior(changes, reason):
    model = build(**changes)
    mean, lower = random_gaussian(model.d)
    found = measure(model, mean, CovarianceFactor(model.backend, lower))
    assert found["notes"]["log_evidence"] == reason
    assert found["notes"]["kl"] == "no optimum is known"
    assert all(math.isnan(found[name]) for name in ("log_evidence", "k_hat", "ess", "kl", "w2"))
    assert found["reading"] == "unknown"
    assert math.isfinite(found["pred_nll"] + found["auc"])


def test_an_improper_prior_has_no_evidence():
    model = build(beta=0.0)
    mode = maximise_posterior(model, np.zeros(model.d))
    lower = model.backend.cholesky(mode.oracle.curvature, "H")
    found = measure(model, mode.mean, PrecisionFactor(model.backend, lower), draws=2000)
    assert math.isnan(found["log_evidence"])
    assert "improper prior" in found["notes"]["evidence_gap"]
    assert 0 < found["ess"] < 1
    assert found["reading"] in {"good", "usable", "unreliable"}


def test_a_reduced_problem_has_the_measures_of_the_full_one():
    train, test = rows(n=8, d=20), rows(n=6, d=20, seed=1)
    reduction = reduce_problem(train.x, test.x, np.zeros(20))
    small = build(
        train._replace(x=reduction.train_x),
        test._replace(x=reduction.test_x),
        multiplicity=reduction.multiplicity,
    )
    full = build(train, test)
    results = []
    for model in (full, small):
        optimum, laplace = optimum_and_laplace(model)
        results.append(measure(model, *laplace, draws=20_000, optimum=optimum))
    first, second = results
    for name in ("pred_nll", "brier", "auc", "neg_elbo", "kl", "w2"):
        assert second[name] == pytest.approx(first[name], rel=1e-6), name
    error = math.hypot(first["log_evidence_error"], second["log_evidence_error"])
    assert abs(first["log_evidence"] - second["log_evidence"]) < 4 * error
