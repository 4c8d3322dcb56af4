"""Test that compiled oracles agree with array operations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gvibench import numerics
from gvibench.numerics.expectations.compiled.constants import FEW_FEATURES
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.numerics.numpy_backend import NumpyBackend
from problems import both_factors, build, random_gaussian, rows


class ArrayBackend(NumpyBackend):
    """NumPy without compiled oracles."""

    def fused_oracle(self, expectation, x, y, beta):
        return None


class SmallBlocks(ArrayBackend):
    """Blocks of seven rows of four features."""

    block_bytes = 7 * 4 * 8
    block_rows = 1


FEW = [(1, 1), (5, 2), (40, 3), (63, 4), (64, 8), (65, 13), (200, 30), (130, FEW_FEATURES)]
MANY = [(1, FEW_FEATURES + 1), (50, 34), (300, 51), (2500, 64), (700, 97), (40, 130)]


@pytest.mark.parametrize("expectation", ["exact", "piecewise", "gauss-hermite"])
@pytest.mark.parametrize(("n", "d"), FEW + MANY)
def test_compiled_and_array_oracles_agree(n, d, expectation):
    train = rows(n=n, d=d, scale=d**-0.5)
    model = build(train, expectation=expectation, beta=0.3)
    assert model.loss.fused_oracle(model.train, 0.3) is not None
    reference = build(train, backend=ArrayBackend(), expectation=expectation, beta=0.3)
    mean, lower = random_gaussian(d)
    lower = np.tril(lower, -1) / d + np.diag(
        np.diag(lower)
    )  # also well-conditioned for many features
    for factor in both_factors(model, lower):
        for kind in ("hessian", "whitened"):
            compiled = model.full_oracle(mean, factor, kind)
            expected = reference.full_oracle(mean, factor, kind)
            for part, wanted in zip(compiled[:3], expected[:3], strict=True):
                assert_allclose(part, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
            assert (compiled.curvature == compiled.curvature.T).all()
            assert_allclose(
                model.test_metrics(mean, factor),
                reference.test_metrics(mean, factor),
                rtol=1e-12,
            )
            again = model.full_oracle(mean, factor, kind)
            for part, same in zip(compiled[:3], again[:3], strict=True):
                assert (part == same).all()


@pytest.mark.parametrize("d", [4, FEW_FEATURES + 1])
def test_a_compiled_oracle_propagates_nan(d):
    model = build(rows(d=d))
    mean, lower = random_gaussian(d)
    mean[1] = np.nan
    oracle = model.full_oracle(mean, CovarianceFactor(model.backend, lower), "hessian")
    assert np.isnan(oracle.value)


def test_only_classes_in_double_precision_have_a_compiled_oracle():
    for model in (build(model="linear"), build(backend=numerics.select("cpu", "float32"))):
        assert model.loss.fused_oracle(model.train, model.beta) is None


@pytest.mark.parametrize("d", [4, FEW_FEATURES + 1])
def test_a_compiled_oracle_rejects_wrong_arrays(d):
    model = build(rows(d=d))
    oracle = model.loss.fused_oracle(model.train, model.beta)
    mean, lower = random_gaussian(d)
    for wrong in (mean[:3], mean[:, None], mean.astype(np.float32)):
        with pytest.raises(ValueError, match="float64 array of shape"):
            oracle(wrong, lower, False, False)
    contiguous = oracle(mean, lower, False, False)
    strided = oracle(np.repeat(mean, 2)[::2], np.asfortranarray(lower), False, False)
    for part, same in zip(contiguous, strided, strict=True):
        assert (part == same).all()


def test_row_blocks_do_not_change_the_sums():
    model, small = (build(backend=backend()) for backend in (ArrayBackend, SmallBlocks))
    mean, lower = random_gaussian(4)
    factor = CovarianceFactor(model.backend, lower)
    whole = model.full_oracle(mean, factor, "whitened")
    blocks = small.full_oracle(mean, factor, "whitened")
    for part, expected in zip(blocks[:3], whole[:3], strict=True):
        assert_allclose(part, expected, rtol=1e-12, atol=1e-13)
    assert_allclose(small.test_metrics(mean, factor), model.test_metrics(mean, factor), rtol=1e-12)
