from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from points import HUGE, grid, means, variances
from scipy.integrate import quad
from scipy.special import ndtr

from gvibench.numerics.expectations import build
from gvibench.numerics.expectations.reference import reference, softplus

BOUND = build("piecewise")
BOUNDS = [
    build("piecewise", pieces=pieces, degree=degree)
    for degree in ("linear", "quadratic")
    for pieces in (3, 4, 5, 20, 61)
]


def term_by_term(bound, mu, s2):
    """Return the sum of truncated moments over the pieces, as in Marlin et al. (2011)."""
    p = bound.pieces
    s = np.sqrt(s2)
    low, high = np.append(-np.inf, p.knots), np.append(p.knots, np.inf)
    with np.errstate(all="ignore"):
        zl, zh = ((x - mu[:, None]) / s[:, None] for x in (low, high))
        mass = np.where(zl > 0, ndtr(-zl) - ndtr(-zh), ndtr(zh) - ndtr(zl))
        dl, dh = (np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) / s[:, None] for z in (zl, zh))
    low, high = (
        np.where(np.isfinite(x), x, 0.0) for x in (low, high)
    )  # multiplied by a density of 0
    m, v = mu[:, None], s2[:, None]
    first = v * (dl - dh) + m * mass
    second = v * ((low + m) * dl - (high + m) * dh) + (v + m**2) * mass
    pl, ph = ((p.a * x + p.b) * x + p.c for x in (low, high))
    sl, sh = (2 * p.a * x + p.b for x in (low, high))
    f0 = p.a * second + p.b * first + p.c * mass
    f1 = 2 * p.a * first + p.b * mass + pl * dl - ph * dh
    f2 = 2 * p.a * mass + sl * dl - sh * dh + (pl * (low - m) * dl - ph * (high - m) * dh) / v
    return f0.sum(axis=1), f1.sum(axis=1), f2.sum(axis=1)


def roughness(bound, s2):
    """Return the sizes that F1 and F2 reach because of the jumps of the bound and its slope."""
    s = np.sqrt(s2)
    return 1 + bound.pieces.max_error / s, 1 + 1 / s + bound.pieces.max_error / s2


@pytest.mark.parametrize("bound", BOUNDS)
def test_piecewise_against_the_sum_over_pieces(bound):
    mu, s2 = grid(limit=30.0, smallest=1e-6, largest=1e2, size=4000)
    f, g = bound(mu, s2), term_by_term(bound, mu, s2)
    scale1, scale2 = roughness(bound, s2)
    np.testing.assert_array_less(np.abs(f[0] - g[0]), 1e-11)
    np.testing.assert_array_less(np.abs(f[1] - g[1]), 1e-11 * scale1)
    np.testing.assert_array_less(np.abs(f[2] - g[2]), 1e-10 * scale2)


@given(bound=st.sampled_from(BOUNDS), mu=means(), s2=variances(1e-6, 1e6))
@example(bound=BOUND, mu=1e3, s2=1e6)
@example(bound=BOUND, mu=-1e3, s2=1e6)
@settings(deadline=None, derandomize=True, max_examples=100)
def test_piecewise_f0_against_adaptive_quadrature(bound, mu, s2):
    s = np.sqrt(s2)
    inner = [t for t in (bound.pieces.knots - mu) / s if abs(t) < 12]
    breaks = sorted({-12.0, -5.0, 0.0, 5.0, 12.0, *inner})

    def integrand(t):
        return bound.pieces(mu + s * t) * np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)

    expected = sum(
        quad(integrand, a, b, epsabs=1e-15, epsrel=1e-12)[0] for a, b in pairwise(breaks)
    )
    assert bound(mu, s2)[0] == pytest.approx(expected, rel=0, abs=1e-11 * max(1, abs(mu), s))


@given(bound=st.sampled_from(BOUNDS), mu=means(), s2=variances(1e-6, 1e6))
@settings(deadline=None, derandomize=True, max_examples=300)
def test_piecewise_is_a_bound_and_within_its_maximum_error(bound, mu, s2):
    excess = bound(mu, s2)[0] - reference(mu, s2)[0]
    assert -2e-9 <= excess <= bound.pieces.max_error + 1e-11 * max(1, abs(mu), np.sqrt(s2))


@pytest.mark.parametrize("bound", BOUNDS)
def test_derivatives_are_those_of_f0(bound):
    mu, s2 = grid(limit=12.0, smallest=1e-3, largest=1e2, size=2000)
    s = np.sqrt(s2)
    h = 1e-3 * s
    _, f1, f2 = bound(mu, s2)
    at = {k: bound(mu + k * h, s2)[:2] for k in (-2, -1, 1, 2)}
    # Differences of fourth order, whose error is the fifth derivative times h^4.
    slope = (8 * (at[1][0] - at[-1][0]) - (at[2][0] - at[-2][0])) / (12 * h)
    curvature = (8 * (at[1][1] - at[-1][1]) - (at[2][1] - at[-2][1])) / (12 * h)
    np.testing.assert_array_less(np.abs(slope - f1), 2e-11 * (1 + (1 + np.abs(mu)) / s))
    np.testing.assert_array_less(np.abs(curvature - f2), 2e-10 * (1 + 1 / s + 1 / s2))


@given(bound=st.sampled_from(BOUNDS), mu=means(50.0), s2=variances(1e-6, 1e5))
@settings(deadline=None, derandomize=True, max_examples=200)
def test_piecewise_is_symmetric(bound, mu, s2):
    left, right = bound(-mu, s2), bound(mu, s2)
    scale1, scale2 = roughness(bound, s2)
    assert right[0] == pytest.approx(mu + left[0], abs=1e-12 * max(1, abs(mu), np.sqrt(s2)))
    assert right[1] == pytest.approx(1 - left[1], abs=1e-12 * scale1)
    assert right[2] == pytest.approx(left[2], abs=1e-12 * scale2)


@pytest.mark.parametrize(("pieces", "smallest"), [(20, -0.036), (5, -2.4)])
def test_f2_can_be_negative(pieces, smallest):
    mu = np.linspace(-12, 12, 200_001)
    f2 = build("piecewise", pieces=pieces)(mu, 1e-3)[2]
    assert f2.min() == pytest.approx(smallest, rel=0.03)


def test_more_pieces_are_more_accurate():
    mu, s2 = grid(limit=10.0, smallest=0.1, largest=10.0, size=2000)
    errors = [
        max(np.abs(f - g).max() for f, g in zip(bound(mu, s2), reference(mu, s2), strict=True))
        for bound in (build("piecewise", pieces=n) for n in (10, 50, 200))
    ]
    assert errors[1] < errors[0] / 10
    assert errors[2] < errors[1] / 5


def test_zero_variance_gives_phi():
    mu = np.linspace(-40, 40, 801)
    for got, expected in zip(BOUND(mu, 0.0), softplus(mu), strict=True):
        np.testing.assert_allclose(got, expected, rtol=3e-15, atol=0)


def test_a_tiny_variance_gives_the_bound():
    mu = np.linspace(-12, 12, 999)
    np.testing.assert_allclose(BOUND(mu, 1e-20)[0], BOUND.pieces(mu), rtol=0, atol=1e-12)


@pytest.mark.parametrize("bound", BOUNDS)
def test_results_are_continuous_where_the_expansion_for_large_variances_starts(bound):
    s2 = 4e6 * np.array([1, 1 + 1e-14])
    for mu in (-2e4, -6e3, -2e2, 0.0, 20.0, 6e3, 2e4):
        f0, f1, f2 = bound(mu, s2)
        assert np.ptp(f0) < 1e-12 * np.sqrt(s2[0])
        assert np.ptp(f1) < 5e-12
        assert np.ptp(f2) < 1e-15


def test_huge_points_have_the_limiting_values():
    for mu, s2 in HUGE:
        f0, f1, f2 = BOUND(mu, s2)
        if mu != 0:
            assert f0 == max(mu, 0.0) + BOUND.pieces.max_error
            assert (f1, f2) == (float(mu > 0), 0.0)
        elif s2 > 1:
            assert f0 == pytest.approx(np.sqrt(s2 / (2 * np.pi)), rel=1e-9)
            assert f1 == pytest.approx(0.5, abs=1e-12)
