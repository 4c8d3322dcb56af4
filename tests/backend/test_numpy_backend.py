"""What only the NumPy backend has: compiled weights, which must not touch other memory."""

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
    found = backend.add_gram(np.zeros((70, 70), rows.dtype), rows, weights, buffer)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    np.testing.assert_allclose(np.tril(found), expected, rtol=tolerance, atol=20 * tolerance)


def test_rows_that_are_no_block_of_memory():
    backend = backends.select("cpu")
    wide = np.arange(60.0).reshape(6, 10)
    rows, weights = wide[::2, 1:8], np.arange(6.0)[::2]
    found = backend.add_gram(np.zeros((7, 7)), rows, weights, np.empty((3, 7)))
    np.testing.assert_allclose(np.tril(found), np.tril((rows.T * weights) @ rows))


def test_arrays_that_do_not_fit_are_refused():
    backend = backends.select("cpu")
    rows, total = np.ones((4, 3)), np.zeros((3, 3))
    with pytest.raises(ValueError, match="a weight for every row"):
        backend.add_gram(total, rows, np.ones(3), np.empty((4, 3)))
    for buffer in (np.empty((3, 3)), np.empty((4, 3), np.float32), np.empty((3, 4)).T):
        with pytest.raises(ValueError, match="a result like the rows"):
            backend.add_gram(total, rows, np.ones(4), buffer)
