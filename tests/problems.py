"""Provide small problems and independent implementations of the mathematics in NumPy.

The reference values do not use the code under test: expectations are Gauss-Hermite sums of high
order or adaptive quadrature, and linear algebra is dense.
"""

import itertools

import numpy as np
from scipy import integrate, special

from gvibench import models, numerics
from gvibench.engine.execute import execute
from gvibench.models.protocols import Rows
from gvibench.numerics.gaussian import CovarianceFactor, PrecisionFactor
from gvibench.registry import MODELS
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.prepared import Prepared

DATA = DataSpec(dataset="test")


def spec(**changes):
    values = {"data": DATA, "beta": 0.5, "solver": "vn", "step": 0.1, **changes}
    return RunSpec(**values)


def rows(n=40, d=4, seed=0, real=False, scale=1.0):
    rng = np.random.default_rng(seed)
    x = scale * rng.standard_normal((n, d))
    truth = rng.standard_normal(d)
    y = x @ truth + rng.standard_normal(n)
    return Rows(x, y if real else np.where(y > 0, 1.0, -1.0))


def rows_for(model, n=40, d=4, seed=0, offset=False):
    """Return rows whose targets fit a model, with an offset if requested."""
    kind = MODELS.load(model).targets[0]
    made = rows(n, d, seed, real=kind != "classes")
    rng = np.random.default_rng([seed, 7])
    if kind == "counts":
        made = made._replace(y=rng.poisson(np.exp(0.5 * made.y - 0.3)).astype(float))
    return made._replace(offset=0.5 * rng.standard_normal(n)) if offset else made


def build(train=None, test=None, multiplicity=1, backend=None, **changes):
    run = spec(**changes)
    train = rows_for(run.model) if train is None else train
    if test is None:
        test = rows_for(run.model, n=25, d=train.x.shape[1], seed=1)
    backend = backend or numerics.select("cpu")
    return models.build(run, backend, train, test, multiplicity=multiplicity)


def prepared(n=40, d=4, real=False, data=None, seed=0):
    """Return prepared data as `read_prepared` would."""
    train, test = rows(n, d, seed, real=real), rows(25, d, seed + 1, real=real)
    return Prepared(data or spec().data, train.x, train.y, test.x, test.y, {})


def prepared_for(model, n=40, d=4, offset=False):
    """Return prepared data whose targets fit a model."""
    train, test = rows_for(model, n, d, 0, offset), rows_for(model, 25, d, 1, offset)
    offsets = {"train_offset": train.offset, "test_offset": test.offset}
    return Prepared(spec().data, train.x, train.y, test.x, test.y, {}, **offsets)


def go(data=None, **changes):
    """Execute a short run and return its trace."""
    return execute(spec(**{"step": 1e-2, "iterations": 20, **changes}), data or prepared())


def random_gaussian(d, seed=3):
    """Return a mean and a lower triangular factor with a positive diagonal."""
    rng = np.random.default_rng(seed)
    lower = np.tril(0.4 * rng.standard_normal((d, d)))
    np.fill_diagonal(lower, 0.3 + rng.random(d))
    return rng.standard_normal(d), lower


def both_factors(model, lower):
    """Return a covariance as a factor of itself and as a factor of its inverse."""
    precision = np.linalg.inv(lower @ lower.T)
    return [
        CovarianceFactor(model.backend, lower),
        PrecisionFactor(model.backend, np.linalg.cholesky(precision)),
    ]


def softplus(t):
    return np.logaddexp(0.0, t)


def expect(function, mu, s2):
    """Return E function(X), X ~ N(mu, s2), by adaptive quadrature."""
    s = np.sqrt(s2)

    def integrand(z):
        return function(mu + s * z) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)

    kink = -mu / s
    points = sorted({-12.0, min(max(kink, -12.0), 12.0), 0.0, 12.0})
    return sum(
        integrate.quad(integrand, a, b, epsabs=1e-13, epsrel=1e-13, limit=200)[0]
        for a, b in itertools.pairwise(points)
    )


def dense_oracle(train, mean, covariance, beta):
    """Return value, gradient and Hessian of the logistic model, computed row by row."""
    value, gradient, hessian = 0.0, beta * mean, beta * np.eye(len(mean))
    for x, y in zip(train.x, train.y, strict=True):
        a = -y * x
        mu, s2 = a @ mean, a @ covariance @ a
        value += expect(softplus, mu, s2)
        gradient = gradient + expect(special.expit, mu, s2) * a
        bump = expect(lambda t: special.expit(t) * special.expit(-t), mu, s2)
        hessian = hessian + bump * np.outer(a, a)
    return value, gradient, hessian


def dense_objective(train, mean, covariance, beta, gamma):
    value = dense_oracle(train, mean, covariance, beta)[0]
    prior = 0.5 * beta * (mean @ mean + np.trace(covariance))
    return value + prior - 0.5 * gamma * np.linalg.slogdet(covariance)[1]
