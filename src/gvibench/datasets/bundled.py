"""Load the data sets that are bundled with scikit-learn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.read import Table
from gvibench.datasets.source import Source
from gvibench.spec.catalogue import DatasetEntry
from gvibench.spec.run import DataSpec

__all__ = ["load_digits_odd_even", "load_wdbc"]


def load_wdbc(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load the Wisconsin breast-cancer data (diagnostic)."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return Source(_table(x, y), labels=entry.labels)


def load_digits_odd_even(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load 8 x 8 images of digits, labelled odd (+1) or even (-1)."""
    from sklearn.datasets import load_digits

    x, digit = load_digits(return_X_y=True)
    return Source(_table(x, digit % 2), labels=entry.labels)


def _table(x: NDArray[Any], y: NDArray[Any]) -> Table:
    return Table(np.ascontiguousarray(x, np.float64), y.astype(np.float64))
