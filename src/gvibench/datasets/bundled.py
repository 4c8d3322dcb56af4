"""Load the data sets that are bundled with scikit-learn."""

import gzip
import importlib.util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.read import Table
from gvibench.datasets.source import Source
from gvibench.spec.catalogue import DatasetEntry
from gvibench.spec.run import DataSpec

__all__ = ["load_digits_odd_even", "load_wdbc"]


def load_wdbc(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load the Wisconsin breast-cancer data (diagnostic)."""
    x, y = _read("breast_cancer.csv", header_lines=1)
    return Source(Table(x, y), labels=entry.labels)


def load_digits_odd_even(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load 8 x 8 images of digits, labelled odd (+1) or even (-1)."""
    x, digit = _read("digits.csv.gz")
    return Source(Table(x, digit % 2), labels=entry.labels)


def _read(name: str, header_lines: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Read a file of scikit-learn without importing it, which takes longer than the whole job."""
    package = importlib.util.find_spec("sklearn")
    assert package is not None
    assert package.origin is not None
    path = Path(package.origin).parent / "datasets/data" / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        rows = np.loadtxt(file, delimiter=",", skiprows=header_lines)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy()
