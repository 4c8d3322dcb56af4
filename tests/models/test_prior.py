import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.linear_model import LogisticRegression

from gvibench import models, numerics, solvers
from gvibench.engine.execute import execute
from gvibench.engine.optimum import find_optimum
from gvibench.errors import UserError
from gvibench.models.protocols import Rows
from gvibench.numerics.gaussian import CovarianceFactor, PrecisionFactor
from gvibench.registry import MODELS, SOLVERS
from gvibench.spec.prior import PriorSettings
from gvibench.spec.run import DataSpec
from gvibench.store.prepared import Prepared
from problems import (
    both_factors,
    build,
    go,
    prepared,
    prepared_for,
    random_gaussian,
    rows,
    rows_for,
    spec,
)

MEAN = [0.3, -0.2, 0.5, 0.1]
DIAGONAL = [0.5, 2.0, 0.0, 1.5]
ROOT = np.random.default_rng(5).standard_normal((4, 4))
FULL = (ROOT @ ROOT.T + 0.1 * np.eye(4)).round(6).tolist()
PRIORS = {
    "full": PriorSettings(mean=MEAN, precision=FULL),
    "diagonal": PriorSettings(precision=DIAGONAL),
    "named": PriorSettings(mean={"x2": 0.4}, precision={"x1": 3.0, "x4": 0.0}),
    "mean": PriorSettings(mean=0.7),
}


def arrays(name, beta=0.5):
    """Return mean and precision of a prior of four features."""
    return {
        "full": (np.array(MEAN), np.array(FULL)),
        "diagonal": (np.zeros(4), np.diag(DIAGONAL)),
        "named": (np.array([0, 0.4, 0, 0]), np.diag([3.0, beta, beta, 0.0])),
        "mean": (np.full(4, 0.7), beta * np.eye(4)),
    }[name]


@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("model_name", MODELS.built_in)
def test_the_oracle_is_the_derivative_of_the_objective(name, model_name):
    model = build(model=model_name, prior=PRIORS[name])
    mean, lower = random_gaussian(4)

    def objective(m, root):
        factor = CovarianceFactor(model.backend, root)
        value = model.full_oracle(m, factor, "hessian").value
        return float(model.objectives(m, factor, value).objective)

    h = 1e-5
    slopes = [
        (objective(mean + h * e, lower) - objective(mean - h * e, lower)) / (2 * h)
        for e in np.eye(4)
    ]
    # dL/dC = (H - V^-1) C, of which the lower triangle can be varied.
    changes = np.zeros((4, 4))
    for i, j in zip(*np.tril_indices(4), strict=True):
        step = np.zeros((4, 4))
        step[i, j] = h
        changes[i, j] = (objective(mean, lower + step) - objective(mean, lower - step)) / (2 * h)
    for factor in both_factors(model, lower):
        oracle = model.full_oracle(mean, factor, "hessian")
        assert_allclose(oracle.gradient, slopes, rtol=1e-5, atol=1e-5)
        curvature = (oracle.curvature - np.linalg.inv(lower @ lower.T)) @ lower
        assert_allclose(np.tril(curvature), changes, rtol=1e-5, atol=1e-5)
        white = model.full_oracle(mean, factor, "whitened")
        root = factor.root()
        assert_allclose(white.curvature, root.T @ oracle.curvature @ root, atol=1e-9)
        product = model.full_oracle(mean, factor, "factor")
        assert_allclose(product.curvature, oracle.curvature @ root, atol=1e-9)


@pytest.mark.parametrize("name", ["full", "mean"])
def test_the_negative_elbo_contains_the_divergence_from_the_prior(name):
    model = build(prior=PRIORS[name])
    mean, lower = random_gaussian(4)
    prior_mean, precision = arrays(name)
    covariance, shift = lower @ lower.T, mean - prior_mean
    divergence = 0.5 * (
        np.trace(precision @ covariance)
        + shift @ precision @ shift
        - 4
        - np.linalg.slogdet(precision @ covariance)[1]
    )
    for factor in both_factors(model, lower):
        value = model.full_oracle(mean, factor, "hessian").value
        assert_allclose(model.objectives(mean, factor, value).neg_elbo, value + divergence)


@pytest.mark.parametrize("name", ["diagonal", "named"])
def test_with_a_flat_column_only_the_negative_elbo_is_infinite(name):
    model = build(prior=PRIORS[name])
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(model.backend, lower)
    value = model.full_oracle(mean, factor, "hessian").value
    objectives = model.objectives(mean, factor, value)
    assert objectives.neg_elbo == math.inf
    prior_mean, precision = arrays(name)
    shift, covariance = mean - prior_mean, lower @ lower.T
    quadratic = 0.5 * (shift @ precision @ shift + np.trace(precision @ covariance))
    expected = value + quadratic - 0.5 * np.linalg.slogdet(covariance)[1]
    assert_allclose(objectives.objective, expected)


def test_vn_traces_the_same_path_after_whitening():
    """With theta = mu0 + T eta and T T' = Lam^-1: rows X T, offset X mu0 and beta = 1."""
    mu0, precision = arrays("full")
    transform = np.linalg.inv(np.linalg.cholesky(precision)).T
    train = rows()
    backend = numerics.select("cpu")
    plain = build(train, train, prior=PRIORS["full"])
    moved = Rows(train.x @ transform, train.y, train.x @ mu0)
    white = build(moved, moved, beta=1.0)
    solver = solvers.create("vn", {})
    mean, lower = random_gaussian(4)
    inverse = np.linalg.inv(transform)
    start = np.linalg.inv(lower @ lower.T)  # precision of eta

    def state_of(model, at, inverse_covariance):
        factor = PrecisionFactor(backend, np.linalg.cholesky(inverse_covariance))
        return solver.evaluate(model, 0, at, factor, memory=inverse_covariance)

    states = [
        state_of(plain, mu0 + transform @ mean, inverse.T @ start @ inverse),
        state_of(white, mean, start),
    ]
    for _ in range(8):
        states = [solver.step(states[0], plain, 0.5), solver.step(states[1], white, 0.5)]
        assert_allclose(states[0].mean, mu0 + transform @ states[1].mean, rtol=0, atol=1e-12)
        pairs = zip((plain, white), states, strict=True)
        objectives = [m.objectives(s.mean, s.factor, s.oracle.value) for m, s in pairs]
        assert_allclose(objectives[0].neg_elbo, objectives[1].neg_elbo, rtol=1e-12)


@pytest.mark.parametrize("name", ["full", "mean"])
def test_the_conjugate_model_has_its_exact_posterior_and_evidence(name):
    sigma = 0.7
    data = prepared_for("linear", offset=True)
    problem = spec(model="linear", sigma=sigma, prior=PRIORS[name]).problem()
    optimum = find_optimum(problem, data)
    mu0, precision = arrays(name)
    x, y, offset = data.train_x, data.train_y, data.train_offset
    posterior = x.T @ x / sigma**2 + precision
    mean = np.linalg.solve(posterior, x.T @ (y - offset) / sigma**2 + precision @ mu0)
    assert_allclose(optimum.mean, mean, atol=1e-10)
    lower = optimum.covariance_factor
    assert_allclose(lower @ lower.T, np.linalg.inv(posterior), atol=1e-12)
    covariance = sigma**2 * np.eye(len(y)) + x @ np.linalg.inv(precision) @ x.T
    evidence = stats.multivariate_normal(x @ mu0 + offset, covariance).logpdf(y)
    assert_allclose(optimum.attrs["neg_elbo"], -evidence, rtol=1e-11)


@pytest.mark.parametrize("estimator", ["price", "reparam", "stl"])
@pytest.mark.parametrize("curvature", ["hessian", "whitened", "factor", "draws"])
def test_sampled_estimates_shift_with_the_mean_of_the_prior(estimator, curvature):
    mu0, _ = arrays("full")
    train = rows()
    moved = train._replace(offset=train.x @ mu0)
    changes = {"expectation": "stochastic", "batch": 10, "samples": 3, "estimator": estimator}
    first = build(train, train, prior=PRIORS["full"], **changes)
    centred = PriorSettings(precision=FULL)
    second = build(moved, moved, prior=centred, **changes)
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(first.backend, lower)
    found = first.oracle(mu0 + mean, factor, curvature, 3)
    expected = second.oracle(mean, factor, curvature, 3)
    assert_allclose(found.gradient, expected.gradient, rtol=1e-9, atol=1e-9)
    if curvature == "draws":
        assert_allclose(found.curvature[0] - mu0, expected.curvature[0], atol=1e-12)
        assert_allclose(found.curvature[1], expected.curvature[1], rtol=1e-9, atol=1e-9)
    else:
        assert_allclose(found.curvature, expected.curvature, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", ["price", "reparam", "stl"])
def test_sampled_estimates_with_a_full_prior_are_unbiased(estimator):
    train = rows(n=12)
    changes = {"expectation": "stochastic", "batch": "all", "samples": 2000}
    model = build(train, train, prior=PRIORS["full"], estimator=estimator, **changes)
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(model.backend, lower)
    exact = model.full_oracle(mean, factor, "factor")
    seen = [model.oracle(mean, factor, "factor", k) for k in range(20)]
    for name in ("gradient", "curvature"):
        values = np.array([getattr(oracle, name) for oracle in seen])
        error = values.std(axis=0, ddof=1) / math.sqrt(len(seen))
        distance = np.abs(values.mean(axis=0) - getattr(exact, name))
        assert (distance < 5 * error + 1e-10).all()


@pytest.mark.parametrize("solver", sorted(set(SOLVERS.built_in) - {"sr-vn-rotated"}))
def test_equal_precisions_equal_beta(solver):
    kind = SOLVERS.load(solver)
    rule = {"step": 1e-3} if kind.has_step else {"step": 1.0, "step_rule": "none"}
    values = {**kind.defaults, **rule, "solver": solver, "init_scale": 0.3}
    scalar = go(**values, beta=0.5)
    diagonal = go(**values, beta=9.0, prior=PriorSettings(precision=[0.5] * 4))
    for metric in ("objective", "neg_elbo", "grad_norm", "test_nll"):
        assert_allclose(diagonal.scalars[metric], scalar.scalars[metric], rtol=1e-8)
    if solver == "laplace":
        evidence = [run.attrs["results"]["laplace_evidence"] for run in (scalar, diagonal)]
        assert_allclose(*evidence)


def test_one_number_for_all_features_is_beta():
    assert spec(prior=PriorSettings(precision=2), beta=0.1) == spec(beta=2.0)
    both = spec(prior=PriorSettings(mean=1, precision=2.0))
    assert both.spec_hash == spec(beta=2.0, prior=PriorSettings(mean=1.0)).spec_hash
    assert spec(prior=PriorSettings(mean={}, precision={})).prior is None
    assert type(both).from_dict(both.to_dict()) == both


def with_intercept(x, y, names=None):
    x = np.column_stack([x, np.ones(len(y))])
    attrs = {"feature_names": names} if names else {}
    return Prepared(DataSpec(dataset="test", intercept=True), x, y, x, y, attrs)


def test_a_flat_intercept_has_the_map_estimate_of_scikit_learn():
    train = rows(n=60)
    data = with_intercept(train.x + 0.5, train.y)
    flat = PriorSettings(precision={"intercept": 0.0})
    problem = spec(data=data.spec, gamma=0.0, prior=flat, beta=0.7).problem()
    fitted = LogisticRegression(C=1 / 0.7, tol=1e-10).fit(train.x + 0.5, train.y)
    expected = [*fitted.coef_[0], fitted.intercept_[0]]
    assert_allclose(find_optimum(problem, data).mean, expected, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in MODELS.built_in if MODELS.load(name).convex])
def test_a_flat_intercept_has_an_optimum(name):
    train = rows_for(name)
    data = with_intercept(train.x, train.y)
    changes = {"data": data.spec, "model": name, "prior": PriorSettings(precision={"intercept": 0})}
    optimum = find_optimum(spec(**changes).problem(), data)
    assert math.isinf(optimum.attrs["neg_elbo"])
    run = execute(spec(**changes, step=1.0, step_rule="auto", iterations=60), data)
    assert_allclose(run.scalars["objective"][-1], optimum.attrs["objective"], rtol=1e-9)
    other = {"solver": "laplace", "step": 1.0, "step_rule": "none", "iterations": 1}
    laplace = execute(spec(**changes, **other), data)
    assert laplace.attrs["results"] == {}


def test_more_features_than_rows_are_solved_without_a_reduction():
    data = prepared(n=6, d=9)
    prior = PriorSettings(precision=[0.5] * 8 + [2.0])
    optimum = find_optimum(spec(prior=prior).problem(), data)
    run = go(data, prior=prior, step=1.0, step_rule="auto", iterations=60)
    assert run.attrs["solver_form"] == "dense"
    assert_allclose(run.scalars["objective"][-1], optimum.attrs["objective"], rtol=1e-10)
    same = PriorSettings(precision=[0.5] * 9)
    dense, reduced = (
        find_optimum(spec(prior=same).problem(), data),
        find_optimum(spec().problem(), data),
    )
    assert_allclose(dense.attrs["neg_elbo"], reduced.attrs["neg_elbo"], rtol=1e-10)
    assert_allclose(dense.mean, reduced.mean, atol=1e-8)
    with pytest.raises(UserError, match=r"the setting 'prior'.*choose another solver"):
        go(data, prior=prior, form="reduced")


def test_names_stand_for_features_and_for_nominal_columns():
    train = rows()
    data = with_intercept(train.x, train.y, ["age", "job=clerk", "job=nurse", "pay", "intercept"])
    prior = PriorSettings(mean={"pay": 2.0}, precision={"job": 3.0, "intercept": 0.0})
    run = spec(data=data.spec, prior=prior, beta=0.5)
    model = models.build(
        run, numerics.select("cpu"), *models.rows_of(data, run), names=models.names_of(data)
    )
    assert_allclose(np.diag(model.prior.precision), [0.5, 3.0, 3.0, 0.5, 0.0])
    assert_allclose(model.prior.mean, [0, 0, 0, 2.0, 0])


@pytest.mark.parametrize(
    ("prior", "sentence"),
    [
        ({"precision": {"x5": 1.0}}, "'test' has no feature 'x5'; available: x1, x2, x3, x4"),
        ({"mean": [1.0, 2.0]}, "has 2 numbers, but 'test' has 4 features"),
    ],
)
def test_a_prior_that_does_not_fit_the_features_is_an_error(prior, sentence):
    with pytest.raises(UserError, match=sentence):
        build(prior=PriorSettings(**prior))
