"""Requirements of all models, built-in or not, tested against quadrature and differences."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from gvibench.engine.optimum import find_optimum
from gvibench.errors import UserError
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.registry import MODELS, SOLVERS
from problems import build, expect, go, prepared_for, random_gaussian, rows_for, spec

NAMES = list(MODELS.built_in)
POINTS = [(-3.0, 0.01), (-0.7, 0.3), (0.0, 1.0), (1.3, 2.5), (2.0, 9.0)]
TARGETS = {"classes": (-1.0, 1.0), "real": (-0.3, 2.0), "counts": (0.0, 1.0, 7.0)}


def loss_of(name, **changes):
    return MODELS.load(name).build_loss(build(model=name).backend, spec(model=name, **changes))


def expectations(loss, mu, s2, y):
    points = [np.atleast_1d(np.asarray(value, float)) for value in (mu, s2, y)]
    f = np.empty((3, len(points[0])))
    loss.expect(*points, *f)
    return f


def targets_of(name):
    return TARGETS[MODELS.load(name).targets[0]]


def log_likelihood(name, t, y):
    """Return log p(y | t) from SciPy."""
    kinds = {
        "logistic": lambda: -np.logaddexp(0.0, -y * t),
        "probit": lambda: stats.norm.logcdf(y * t),
        "linear": lambda: stats.norm.logpdf(y, t),
        "poisson": lambda: stats.poisson.logpmf(y, np.exp(t)),
    }
    return kinds["logistic" if name == "non-convex" else name]()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("mu", "s2"), POINTS)
def test_exact_expectations_equal_quadrature(name, mu, s2):
    loss = loss_of(name)
    for y in targets_of(name):
        found = expectations(loss, mu, s2, y)[:, 0]
        for k in range(3):

            def derivative(t, k=k, y=y):
                return float(loss.at(np.array([t]), np.array([y]))[k][0])

            assert_allclose(found[k], expect(derivative, mu, s2), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_the_negative_log_likelihood(name):
    loss = loss_of(name)
    t = np.linspace(-6.0, 3.0, 19)
    for y in targets_of(name):
        targets = np.full_like(t, y)
        expected = -log_likelihood(name, t, y)
        assert_allclose(loss.value_at(t, targets) + loss.log_normaliser, expected, atol=1e-11)
        assert_allclose(loss.at(t, targets)[0] + loss.log_normaliser, expected, atol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_expectations_are_derivatives_of_each_other(name):
    """F1 = dF0/dmu, F2 = dF1/dmu and dF0/ds2 = F2 / 2."""
    loss, h = loss_of(name), 1e-4
    for mu, s2 in POINTS[1:]:
        for y in targets_of(name):
            at = expectations(loss, mu, s2, y)
            slope = (expectations(loss, mu + h, s2, y) - expectations(loss, mu - h, s2, y)) / (
                2 * h
            )
            wider = (expectations(loss, mu, s2 + h, y) - expectations(loss, mu, s2 - h, y)) / (
                2 * h
            )
            assert_allclose(slope[0], at[1], rtol=2e-7, atol=2e-7)
            assert_allclose(slope[1], at[2], rtol=2e-7, atol=2e-7)
            assert_allclose(wider[0], at[2] / 2, rtol=2e-7, atol=2e-7)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_are_at_most_the_steepest(name):
    loss = loss_of(name)
    t = np.linspace(-40.0, 5.0, 901)
    for y in targets_of(name):
        second = loss.at(t, np.full_like(t, y))[2]
        assert (second >= 0).all()
        assert second.max() <= loss.steepest
    assert math.isfinite(loss.steepest) == MODELS.load(name).smooth


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("curvature", ["hessian", "whitened", "factor"])
def test_the_oracle_with_an_offset_is_the_derivative_of_the_objective(name, curvature):
    """An offset takes the path without compiled code, and so do the test metrics."""
    train = rows_for(name, offset=True)
    model = build(train, rows_for(name, 25, seed=1, offset=True), model=name)
    mean, lower = random_gaussian(model.d)
    factor = CovarianceFactor(model.backend, lower)
    oracle = model.full_oracle(mean, factor, curvature)

    def objective(m):
        value = model.full_oracle(m, factor, "hessian").value
        return float(model.objectives(m, factor, value).objective)

    h = 1e-5
    slopes = [(objective(mean + h * e) - objective(mean - h * e)) / (2 * h) for e in np.eye(4)]
    assert_allclose(oracle.gradient, slopes, rtol=1e-6, atol=1e-6)
    hessian = model.full_oracle(mean, factor, "hessian").curvature
    shapes = {"hessian": hessian, "whitened": lower.T @ hessian @ lower, "factor": hessian @ lower}
    assert_allclose(oracle.curvature, shapes[curvature], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_an_offset_equals_a_fixed_column(name):
    """A column with a known coefficient and no variance has the effect of an offset."""
    train = rows_for(name, offset=True)
    model = build(train, train, model=name)
    column = np.column_stack([train.x, train.offset])
    other = build(
        train._replace(x=column, offset=None),
        model=name,
        test=train._replace(x=column, offset=None),
    )
    mean, lower = random_gaussian(model.d)
    factor = CovarianceFactor(model.backend, lower)
    wide = np.zeros((5, 5))
    wide[:4, :4] = lower
    fixed = CovarianceFactor(model.backend, wide)
    one = np.append(mean, 1.0)
    penalty = other.penalty(one)[0] - model.penalty(mean)[0]
    found, expected = (
        model.full_oracle(mean, factor, "hessian"),
        other.full_oracle(one, fixed, "hessian"),
    )
    assert_allclose(found.value, expected.value - penalty, rtol=1e-11)
    assert_allclose(found.gradient, expected.gradient[:4], atol=1e-9)
    assert_allclose(found.curvature, expected.curvature[:4, :4], atol=1e-9)
    assert_allclose(
        model.test_metrics(mean, factor)[:2], other.test_metrics(one, fixed)[:2], rtol=1e-10
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("offset", [False, True])
def test_each_solver_runs_and_descends(name, offset):
    data = prepared_for(name, offset=offset)
    for solver in SOLVERS.built_in:
        kind = SOLVERS.load(solver)
        rule = {"step": 1e-3} if kind.has_step else {"step": 1.0, "step_rule": "none"}
        values = {**kind.defaults, **rule, "init_scale": 0.1, "mean_scale": 0.1}
        run = spec(model=name, solver=solver, iterations=20, **values)
        if kind.limitation(run) or (solver == "sr-vn-rotated" and name == "non-convex"):
            assert name == "non-convex", (solver, kind.limitation(run))
            continue
        trace = go(data, model=name, solver=solver, **values)
        objective = trace.scalars["objective"]
        assert np.isfinite(objective).all(), solver
        assert objective[-1] < objective[0], solver
        accuracy = trace.scalars["test_accuracy"][-1]
        assert math.isnan(accuracy) == (MODELS.load(name).targets[0] != "classes")


@pytest.mark.parametrize("name", NAMES)
def test_stochastic_estimates_are_unbiased(name):
    """The mean over many draws is within five standard errors of the exact gradient."""
    train = rows_for(name, 12, 2, offset=True)
    model = build(train, model=name, expectation="stochastic", batch="all", samples=4000)
    mean, lower = random_gaussian(2)
    factor = CovarianceFactor(model.backend, 0.5 * lower)
    exact = model.full_oracle(mean, factor, "hessian")
    seen = [model.oracle(mean, factor, "hessian", k) for k in range(10)]
    gradients = np.array([oracle.gradient for oracle in seen])
    error = gradients.std(axis=0, ddof=1) / math.sqrt(len(seen))
    assert (np.abs(gradients.mean(axis=0) - exact.gradient) < 5 * error + 1e-12).all()
    hessians = np.array([oracle.curvature for oracle in seen])
    error = hessians.std(axis=0, ddof=1) / math.sqrt(len(seen))
    assert (np.abs(hessians.mean(axis=0) - exact.curvature) < 5 * error + 1e-12).all()


@pytest.mark.parametrize("name", [name for name in NAMES if MODELS.load(name).convex])
@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("shape", [(40, 4), (6, 9)], ids=["n>d", "d>n"])
def test_all_solvers_share_the_optimum(name, offset, shape):
    data = prepared_for(name, *shape, offset=offset)
    problem = spec(model=name).problem()
    optimum = find_optimum(problem, data)
    trace = go(data, model=name, solver="vn", step=1.0, step_rule="auto", iterations=60)
    assert_allclose(trace.scalars["objective"][-1], optimum.attrs["objective"], rtol=1e-9)
    assert_allclose(trace.mean[-1], optimum.mean, atol=1e-4)
    assert math.isfinite(optimum.attrs["smoothness"]) == MODELS.load(name).smooth


@pytest.mark.parametrize("name", NAMES)
def test_other_targets_are_rejected(name):
    kind = MODELS.load(name)
    wrong = {"classes": [0.5, 2.0], "counts": [1.0, 2.5]}.get(kind.targets[0])
    if wrong is None:
        assert set(kind.targets) == set(TARGETS)
        return
    train = rows_for(name)._replace(y=np.array([*wrong, *[1.0] * 38]))
    with pytest.raises(UserError, match=r"are real numbers.*: use model 'linear'$"):
        build(train, model=name)


@pytest.mark.parametrize("name", NAMES)
def test_other_expectations_are_rejected(name):
    for expectation in ("piecewise", "exact", "gauss-hermite", "stochastic"):
        if expectation in MODELS.load(name).expectations:
            build(model=name, expectation=expectation)
        else:
            with pytest.raises(UserError, match=f"'{name}' does not support.*: use 'exact' or"):
                build(model=name, expectation=expectation)
