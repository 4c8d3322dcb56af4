import numpy as np
import pytest
from hypothesis import given, settings
from points import means, variances

from gvibench.numerics.expectations import build
from gvibench.numerics.expectations.reference import reference, softplus

RULE = build("gauss-hermite")


@given(mu=means(), s2=variances(1e-10, 1.0))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_twenty_nodes_are_accurate_for_small_variances(mu, s2):
    for got, expected in zip(RULE(mu, s2), reference(mu, s2), strict=True):
        assert got == pytest.approx(expected, abs=1.2e-9, rel=1e-14)


@given(mu=means(), s2=variances(1e-6, 1e6))
@settings(deadline=None, derandomize=True, max_examples=100)
def test_the_kernel_computes_the_sum_over_the_nodes(mu, s2):
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    terms = softplus(mu + np.sqrt(s2) * nodes)
    scale = max(1, abs(mu), np.sqrt(s2))
    for got, values in zip(build("gauss-hermite", nodes=7)(mu, s2), terms, strict=True):
        assert got == pytest.approx(values @ weights / weights.sum(), abs=1e-14 * scale)


@pytest.mark.parametrize("nodes", [1, 2, 200])
def test_any_number_of_nodes(nodes):
    mu = np.linspace(-5, 5, 11)
    f0, f1, f2 = build("gauss-hermite", nodes=nodes)(mu, 0.0)
    for got, expected in zip((f0, f1, f2), softplus(mu), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)
