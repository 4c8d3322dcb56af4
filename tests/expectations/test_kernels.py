"""The compiled code underneath: its elementary functions, and how it is kept."""

import math

import numba
import numpy as np
import pytest
from scipy.special import erfcx

from gvibench.numerics.expectations import build
from gvibench.numerics.expectations.compiled import elementary
from gvibench.numerics.expectations.compiled import loader as native


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path))
    native.load_kernel.cache_clear()
    yield tmp_path
    native.load_kernel.cache_clear()


def everywhere(function):
    return numba.vectorize(["float64(float64)"])(lambda x: function(x))


def test_exponential():
    exponential = everywhere(elementary.exp_nonpositive)
    x = np.concatenate([np.linspace(elementary.EXP_END, 0, 100_001), -np.geomspace(1e-18, 1, 1000)])
    np.testing.assert_allclose(exponential(x), np.exp(x), rtol=2.3e-16 * 2, atol=0)
    assert exponential(0.0) == 1.0


def test_logarithm():
    logarithm = everywhere(elementary.log1p_of_unit)
    e = np.concatenate([[0.0], np.geomspace(1e-300, 1, 10_001), np.linspace(0, 1, 10_001)])
    np.testing.assert_allclose(logarithm(e), np.log1p(e), rtol=1e-15, atol=0)


def mills(z):
    return np.sqrt(np.pi / 2) * erfcx(z / np.sqrt(2))


def test_mills_ratio():
    z = np.linspace(0, elementary.TAIL_END, 100_001)
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    error = density * (everywhere(elementary.mills_ratio)(z) - mills(z))
    assert np.abs(error * (1 + z**2)).max() < 3e-15


def test_coefficients_of_the_mills_ratio_can_be_found_again():
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


def test_damaged_object_code_is_compiled_again(cache):
    expected = build("exact")(0.3, 2.0)
    (file,) = (cache / "kernels").iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:100], b"x" + whole[1:], whole[:50] + b"x" + whole[51:]):
        file.write_bytes(damaged)
        assert native._read(file) is None
    native.load_kernel.cache_clear()
    assert build("exact")(0.3, 2.0) == expected
    assert native._read(file) is not None


def test_an_unwritable_cache_is_no_obstacle(cache, monkeypatch):
    (cache / "file").write_text("in the way")
    monkeypatch.setenv("GVIBENCH_CACHE", str(cache / "file"))
    f0, _, _ = build("gauss-hermite")(0.0, 0.0)
    assert f0 == pytest.approx(math.log(2))


def test_a_kernel_that_needs_a_library_is_refused(cache, monkeypatch):
    from gvibench.numerics.expectations.compiled import gauss_hermite

    def evaluate(table, rows, n, mu, s2, f0, f1, f2):
        f0[0] = math.erf(mu[0])

    monkeypatch.setattr(gauss_hermite, "evaluate", evaluate)
    with pytest.raises(RuntimeError, match="calls erf"):
        build("gauss-hermite")(0.0, 1.0)
