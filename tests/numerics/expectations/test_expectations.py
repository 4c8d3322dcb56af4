"""Test the properties that all expectations share."""

import copy
import pickle

import numpy as np
import pytest
from points import HUGE, INVALID, grid

from gvibench.errors import UserError
from gvibench.numerics.expectations import build

NAMES = ("piecewise", "exact", "gauss-hermite")


@pytest.fixture(params=NAMES)
def expectation(request):
    return build(request.param)


def test_name(expectation):
    assert build(expectation.name).name == expectation.name


def test_an_unknown_name_is_rejected():
    with pytest.raises(UserError, match="unknown expectation 'monte-carlo'"):
        build("monte-carlo")


def test_invalid_points_yield_nan(expectation):
    for mu, s2 in INVALID:
        assert np.isnan(expectation(mu, s2)).all(), (mu, s2)
    # Neighbours in the same block are not affected.
    mu, s2 = (np.array([1.0, *column, 2.0]) for column in zip(*INVALID, strict=True))
    s2[0] = 3.0
    for f, first, last in zip(
        expectation(mu, s2), expectation(1.0, 3.0), expectation(2.0, 2.0), strict=True
    ):
        assert (f[0], f[-1]) == (first, last)


def test_huge_points_do_not_raise(expectation):
    for mu, s2 in HUGE:
        assert np.shape(expectation(mu, s2)) == (3,)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_result_at_a_point_does_not_depend_on_its_position(expectation, rng, dtype):
    mu, s2 = (v.astype(dtype) for v in grid(limit=20.0, largest=1e4, size=1003))
    s2[::50] = 0.0
    whole = np.stack(expectation(mu, s2))
    order = rng.permutation(mu.size)
    np.testing.assert_array_equal(np.stack(expectation(mu[order], s2[order])), whole[:, order])
    for start, stop in [(1, 1003), (3, 70), (500, 501), (7, 15), (0, 65), (64, 128), (9, 9)]:
        part = np.stack(expectation(mu[start:stop], s2[start:stop]))
        np.testing.assert_array_equal(part, whole[:, start:stop])
    for i in range(0, mu.size, 100):
        alone = expectation(mu[i : i + 1], s2[i : i + 1])
        np.testing.assert_array_equal(np.stack(alone), whole[:, i : i + 1])


def test_results_do_not_depend_on_alignment(expectation):
    mu, s2 = grid(limit=20.0, largest=1e4, size=130)
    whole = np.stack(expectation(mu, s2))
    for offset in (1, 2, 3, 5, 7):
        arrays = np.empty((5, mu.size + offset))
        arrays[0, offset:], arrays[1, offset:] = mu, s2
        expectation.evaluate(*(row[offset:] for row in arrays))
        np.testing.assert_array_equal(arrays[2:, offset:], whole)


def test_single_precision_is_the_rounded_double(expectation):
    mu, s2 = (v.astype(np.float32) for v in grid(limit=20.0, largest=1e3, size=500))
    doubles = expectation(mu.astype(np.float64), s2.astype(np.float64))
    for single, double in zip(expectation(mu, s2), doubles, strict=True):
        assert single.dtype == np.float32
        np.testing.assert_array_equal(single, double.astype(np.float32))


def test_evaluate_writes_what_call_returns(expectation):
    mu, s2 = grid(limit=20.0, size=777)
    f = np.full((3, mu.size), np.nan)
    mu.flags.writeable = s2.flags.writeable = False
    assert expectation.evaluate(mu, s2, *f) is None
    np.testing.assert_array_equal(f, expectation(mu, s2))


def test_call_broadcasts(expectation):
    f = expectation(np.zeros((3, 1)), [1.0, 2.0])
    assert [v.shape for v in f] == [(3, 2)] * 3
    assert [np.shape(v) for v in expectation(0, 1)] == [()] * 3
    assert [v.shape for v in expectation(np.empty(0), 1.0)] == [(0,)] * 3


def test_copies_work(expectation):
    mu, s2 = grid(limit=20.0, size=50)
    expected = np.stack(expectation(mu, s2))
    copies = [copy.deepcopy(expectation), pickle.loads(pickle.dumps(expectation))]
    del expectation
    for other in copies:
        np.testing.assert_array_equal(np.stack(other(mu, s2)), expected)


def test_invalid_arrays_are_rejected(expectation):
    good = np.ones(6)
    read_only = np.ones(6)
    read_only.flags.writeable = False
    for bad in (np.ones(5), np.ones((2, 3)), np.ones(12)[::2], np.ones(6, np.float32), read_only):
        with pytest.raises(ValueError, match=r"contiguous|writeable"):
            expectation.evaluate(good, good, good.copy(), bad, good.copy())
    integers = np.ones(6, np.int64)
    with pytest.raises(ValueError, match="float"):
        expectation.evaluate(*5 * (integers,))
