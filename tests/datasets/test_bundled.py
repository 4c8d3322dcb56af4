import numpy as np
from loading import load


def test_wdbc() -> None:
    source = load({"dataset": "wdbc"})
    assert source.table.x.shape == (569, 30)
    assert (source.table.y == 1).sum() == 357  # benign


def test_digits_odd_even() -> None:
    from sklearn.datasets import load_digits

    source = load({"dataset": "digits-odd-even"})
    assert source.table.x.shape == (1797, 64)
    np.testing.assert_array_equal(source.table.y == 1, load_digits().target % 2 == 1)
