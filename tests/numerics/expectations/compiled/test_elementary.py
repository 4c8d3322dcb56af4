"""Test the elementary functions of the compiled kernels."""

import numba
import numpy as np
from scipy.special import erfcx

from gvibench.numerics.expectations.compiled import elementary


def vectorized(function):
    return numba.vectorize(["float64(float64)"])(lambda x: function(x))


def test_exponential():
    exponential = vectorized(elementary.exp_nonpositive)
    x = np.concatenate([np.linspace(elementary.EXP_END, 0, 100_001), -np.geomspace(1e-18, 1, 1000)])
    np.testing.assert_allclose(exponential(x), np.exp(x), rtol=2.3e-16 * 2, atol=0)
    assert exponential(0.0) == 1.0


def test_logarithm():
    logarithm = vectorized(elementary.log1p_of_unit)
    e = np.concatenate([[0.0], np.geomspace(1e-300, 1, 10_001), np.linspace(0, 1, 10_001)])
    np.testing.assert_allclose(logarithm(e), np.log1p(e), rtol=1e-15, atol=0)


def mills(z):
    return np.sqrt(np.pi / 2) * erfcx(z / np.sqrt(2))


def test_mills_ratio():
    z = np.linspace(0, elementary.TAIL_END, 100_001)
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    error = density * (vectorized(elementary.mills_ratio)(z) - mills(z))
    assert np.abs(error * (1 + z**2)).max() < 3e-15


def test_coefficients_of_the_mills_ratio_can_be_reproduced():
    x = np.polynomial.chebyshev.chebpts1(400)
    z = 104 / (9 * x + 17) - 4
    weights = np.exp(-0.5 * z**2) * (1 + z**2) + 1e-8
    system = np.polynomial.chebyshev.chebvander(x, 13) * weights[:, None]
    solution = np.linalg.lstsq(system, mills(z) * weights, rcond=None)[0]
    stored = [getattr(elementary, f"_M{k}") for k in range(14)]
    np.testing.assert_allclose(
        np.polynomial.Polynomial(stored)(x),
        np.polynomial.chebyshev.chebval(x, solution),
        rtol=0,
        atol=1e-8,  # at the far end, where the density is 1e-18
    )
    near = z < 2
    np.testing.assert_allclose(
        np.polynomial.Polynomial(stored)(x)[near], mills(z)[near], rtol=1e-13
    )
