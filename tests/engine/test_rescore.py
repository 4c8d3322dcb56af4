"""Recomputed objectives against adaptive quadrature, row by row."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from benchmark_folders import instance
from gvibench.engine.rescore import recompute, verify_objective
from gvibench.errors import UserError
from problems import expect, random_gaussian, softplus

LOSSES = {
    "logistic": lambda t, y: softplus(-y * t),
    "probit": lambda t, y: -special.log_ndtr(y * t),
    "poisson": lambda t, y: np.exp(t) - y * t + special.gammaln(y + 1),
}


def by_quadrature(problem, mean, factor):
    """Return the objective from its definition."""
    covariance = factor @ factor.T
    total = 0.0
    for x, y in zip(problem.rows, problem.y, strict=True):
        s2 = x @ covariance @ x
        total += expect(lambda t, y=y: LOSSES[problem.model](t, y), x @ mean, s2)
    second_moment = np.outer(mean, mean) + covariance
    prior = 0.5 * np.trace(problem.precision @ second_moment)
    return total + prior - 0.5 * np.linalg.slogdet(covariance)[1]


@pytest.mark.parametrize("basis", ["identity", "affine"])
@pytest.mark.parametrize("model", LOSSES)
def test_the_objective_is_its_definition(model, basis):
    problem = instance(model, basis)
    mean, lower = random_gaussian(problem.dimension)
    means = np.array([problem.mean0, mean, 0.1 * mean])
    # A column with the other sign is the same Gaussian.
    factors = np.array([problem.factor0, 0.3 * lower, 1e-3 * lower * [1, -1, 1, 1]])
    found = recompute(problem, means, factors)
    wanted = [by_quadrature(problem, *pair) for pair in zip(means, factors, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=2e-11)


def test_an_overflow_is_infinite():
    problem = instance("poisson")
    mean, factor = problem.mean0[None], 1e3 * problem.factor0[None]
    assert recompute(problem, mean, factor) == np.inf


def test_records_in_other_memory_layouts():
    problem = instance()
    mean, lower = random_gaussian(problem.dimension)
    means, factors = np.array([mean, -mean]), np.array([lower, 2 * lower])
    transposed = np.asfortranarray(factors)
    np.testing.assert_array_equal(
        recompute(problem, means[::-1], transposed[::-1]), recompute(problem, means, factors)[::-1]
    )


def test_the_temperature_scales_the_entropy():
    problem = instance()
    mean, lower = random_gaussian(problem.dimension)
    warm, cold = (
        recompute(replace(problem, gamma=gamma), mean[None], lower[None])[0] for gamma in (1, 0.5)
    )
    assert cold - warm == pytest.approx(0.5 * np.log(np.diag(lower)).sum(), rel=1e-12)


def test_no_records_give_no_objectives():
    problem = instance()
    assert recompute(problem, np.empty((0, 4)), np.empty((0, 4, 4))).shape == (0,)


@pytest.mark.parametrize(
    ("claimed", "recomputed"),
    [
        ([100.0, 1e-12], [100.0 + 9e-8, 0.0]),  # near zero, the difference is absolute
        ([np.nan, np.inf], [3.0, np.inf]),
        ([], []),
    ],
)
def test_equal_objectives_are_accepted(claimed, recomputed):
    verify_objective("a.b.c", np.array(claimed), np.array(recomputed))


@pytest.mark.parametrize(
    ("claimed", "recomputed"),
    [
        ([1.0, 100.0], [1.0, 100.0 + 2e-7]),
        ([1.0, 2e-9], [1.0, 0.0]),
        ([1.0, 3.0], [1.0, np.inf]),
        ([1.0, np.inf], [1.0, 3.0]),
        ([1.0, 3.0], [1.0, np.nan]),
    ],
)
def test_other_objectives_are_rejected(claimed, recomputed):
    with pytest.raises(UserError) as error:
        verify_objective("a.b.c", np.array(claimed), np.array(recomputed))
    sentence = str(error.value)
    assert sentence.startswith("a.b.c: the objective of record 1 is ")
    assert f"{claimed[1]:.17g}" in sentence
    assert f"{recomputed[1]:.17g}" in sentence
