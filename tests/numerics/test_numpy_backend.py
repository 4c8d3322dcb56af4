"""Test the weighted Gram matrix of the NumPy backend, whose kernel must not write out of bounds."""

import numpy as np
import pytest

from gvibench import numerics as backends


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("in_place", [False, True])
def test_a_weighted_gram_matrix(dtype, in_place):
    backend = backends.select("cpu", dtype)
    rng = np.random.default_rng(0)
    rows, weights = backend.asarray(rng.normal(size=(37, 70))), backend.asarray(rng.normal(size=37))
    expected = np.tril((rows.T * weights) @ rows)
    buffer = rows if in_place else np.empty_like(rows)
    gram = backend.add_gram(np.zeros((70, 70), rows.dtype), rows, weights, buffer)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(np.tril(gram), expected, rtol=tolerance, atol=20 * tolerance)


def test_rows_that_are_not_contiguous():
    backend = backends.select("cpu")
    wide = np.arange(60.0).reshape(6, 10)
    rows, weights = wide[::2, 1:8], np.arange(6.0)[::2]
    gram = backend.add_gram(np.zeros((7, 7)), rows, weights, np.empty((3, 7)))
    np.testing.assert_allclose(np.tril(gram), np.tril((rows.T * weights) @ rows))


def test_arrays_of_wrong_shapes_are_rejected():
    backend = backends.select("cpu")
    rows, total = np.ones((4, 3)), np.zeros((3, 3))
    with pytest.raises(ValueError, match="one weight per row"):
        backend.add_gram(total, rows, np.ones(3), np.empty((4, 3)))
    for buffer in (np.empty((3, 3)), np.empty((4, 3), np.float32), np.empty((3, 4)).T):
        with pytest.raises(ValueError, match="a result array of the shape"):
            backend.add_gram(total, rows, np.ones(4), buffer)
