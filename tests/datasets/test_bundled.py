import numpy as np
from loading import load
from sklearn.datasets import load_breast_cancer, load_digits


def test_wdbc() -> None:
    source, expected = load({"dataset": "wdbc"}), load_breast_cancer()
    np.testing.assert_array_equal(source.table.x, expected.data)
    np.testing.assert_array_equal(source.table.y, expected.target)
    assert (source.table.y == 1).sum() == 357  # benign


def test_digits_odd_even() -> None:
    source, expected = load({"dataset": "digits-odd-even"}), load_digits()
    np.testing.assert_array_equal(source.table.x, expected.data)
    np.testing.assert_array_equal(source.table.y == 1, expected.target % 2 == 1)
