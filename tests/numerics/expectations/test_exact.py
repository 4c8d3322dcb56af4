import numpy as np
import pytest
from build_exact_table import build_table
from hypothesis import given, settings
from points import HUGE, grid, means, variances

from gvibench.numerics.expectations import build, exact_table
from gvibench.numerics.expectations.reference import reference, softplus

EXACT = build("exact")


@given(mu=means(), s2=variances(1e-12, 1e6))
@settings(deadline=None, derandomize=True, max_examples=300)
def test_exact_against_quadrature(mu, s2):
    for got, expected in zip(EXACT(mu, s2), reference(mu, s2), strict=True):
        assert got == pytest.approx(expected, rel=0, abs=1e-11)


def test_exact_against_quadrature_at_many_points():
    mu, s2 = grid()
    f, g = EXACT(mu, s2), reference(mu, s2)
    np.testing.assert_allclose(f[0], g[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(f[1], g[1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(f[2], g[2], rtol=0, atol=2e-12)


def test_accuracy_at_the_edges_of_the_patches():
    t = np.linspace(0, exact_table.T_END, exact_table.PATCHES_T + 1)[:, None]
    q = np.linspace(0, 1, exact_table.PATCHES_Q + 1)[1:]
    r = exact_table.C / np.sqrt(q)
    s2 = exact_table.C**2 * (1 / q - 1)
    mu = -t * r
    nearby = np.stack([mu * (1 - 1e-15), mu, mu * (1 + 1e-15)])
    for got, expected in zip(EXACT(nearby, s2), reference(nearby, s2), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=2e-12)


def test_values_have_the_signs_of_the_exact_values():
    mu, s2 = grid(size=100_000)
    f0, f1, f2 = EXACT(mu, s2)
    assert (f0 >= np.maximum(mu, 0)).all()
    assert ((f1 >= 0) & (f1 <= 1)).all()
    assert (f2 >= 0).all()


@given(mu=means(50.0), s2=variances(1e-4, 1e4))
@settings(deadline=None, derandomize=True, max_examples=100)
def test_exact_is_symmetric(mu, s2):
    left, right = EXACT(-mu, s2), EXACT(mu, s2)
    assert right[0] == pytest.approx(mu + left[0], abs=1e-13 * max(1, abs(mu)))
    assert right[1] == pytest.approx(1 - left[1], abs=1e-12)  # only rounding errors except at zero
    assert right[2] == left[2]


def test_zero_variance_gives_phi_and_a_tiny_variance_is_close():
    mu = np.linspace(-40, 40, 801)
    for at_zero, close, expected in zip(
        EXACT(mu, 0.0), EXACT(mu, 1e-300), softplus(mu), strict=True
    ):
        np.testing.assert_allclose(at_zero, expected, rtol=3e-15, atol=0)
        np.testing.assert_allclose(close, expected, rtol=0, atol=2e-12)


def test_huge_points_have_the_limiting_values():
    for mu, s2 in HUGE:
        f0, f1, f2 = EXACT(mu, s2)
        s = np.sqrt(s2)
        assert np.isfinite([f0, f1, f2]).all()
        if mu != 0:  # all other means are large compared with the standard deviations
            assert f0 == max(mu, 0.0)
            assert (f1, f2) == (float(mu > 0), 0.0)
        elif s2 > 1:
            assert f0 == pytest.approx(s / np.sqrt(2 * np.pi), rel=1e-9)
            assert f1 == pytest.approx(0.5, abs=1e-12)


def test_the_shipped_table_can_be_rebuilt():
    shipped = exact_table.load_table()
    assert shipped.nbytes < 1e6
    np.testing.assert_allclose(build_table(), shipped, rtol=0, atol=1e-13)
