"""Compare the reference, which other tests rely on, with adaptive quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from points import means, variances
from scipy.integrate import quad

from gvibench.numerics.expectations.reference import NARROW, reference, softplus


def adaptive(mu, s2):
    """Return F0, F1 and F2, integrated over t = (x - mu) / s with breaks where phi bends."""
    s = np.sqrt(s2)
    bends = [(x - mu) / s for x in (-40, -20, -10, -4, -1, 0, 1, 4, 10, 20, 40)]
    breaks = sorted({-12.0, -6.0, -2.0, 0.0, 2.0, 6.0, 12.0, *(t for t in bends if abs(t) < 12)})

    def integral(k):
        def integrand(t):
            return softplus(np.float64(mu + s * t))[k] * np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)

        return sum(
            quad(integrand, a, b, epsabs=1e-15, epsrel=1e-13)[0] for a, b in pairwise(breaks)
        )

    return integral(0), integral(1), integral(2)


@given(mu=means(), s2=variances(1e-8, 1e6))
@example(mu=0.0, s2=NARROW**2)
@example(mu=0.0, s2=NARROW**2 * (1 + 1e-12))
@example(mu=-3.0, s2=NARROW**2)
@example(mu=1e3, s2=1e6)
@settings(deadline=None, derandomize=True, max_examples=40)
def test_reference_against_adaptive_quadrature(mu, s2):
    f0, f1, f2 = reference(mu, s2)
    g0, g1, g2 = adaptive(mu, s2)
    assert f0 == pytest.approx(g0, abs=2e-13 * max(1, abs(mu), np.sqrt(s2)))
    assert f1 == pytest.approx(g1, abs=2e-13)
    assert f2 == pytest.approx(g2, abs=2e-13)


def test_reference_at_zero_variance_and_far_out():
    mu = np.array([-800.0, -30.0, 0.0, 1e-9, 30.0, 800.0])
    for got, expected in zip(reference(mu, 0.0), softplus(mu), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-15, atol=0)


def test_reference_keeps_the_shape():
    assert all(f.shape == (2, 3) for f in reference(np.zeros((2, 1)), np.ones(3)))
