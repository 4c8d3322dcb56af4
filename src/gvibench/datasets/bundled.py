"""Load the data sets in the folder `data`, which are copies from scikit-learn."""

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.read import Table
from gvibench.datasets.source import Source
from gvibench.spec.catalogue import DatasetEntry
from gvibench.spec.run import DataSpec

__all__ = ["load_digits_odd_even", "load_wdbc"]

DATA = Path(__file__).with_name("data")


def load_wdbc(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load the Wisconsin breast-cancer data (diagnostic)."""
    x, y = _read("wdbc.csv", header_lines=1)
    return Source(Table(x, y), labels=entry.labels)


def load_digits_odd_even(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load 8 x 8 images of digits, labelled odd (+1) or even (-1)."""
    x, digit = _read("digits.csv.gz")
    return Source(Table(x, digit % 2), labels=entry.labels)


def _read(name: str, header_lines: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the features and the last column of a file."""
    path = DATA / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        rows = np.loadtxt(file, delimiter=",", skiprows=header_lines)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy()
