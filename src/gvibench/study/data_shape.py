"""Inspect data sets without loading them: format, sizes and split.

A plan does this so that jobs do not fail hours later. It reads the first bytes of the user's own
files and the headers of arrays, and the rows of small text files.
"""

import math
from functools import cache
from typing import NamedTuple

from gvibench.errors import UserError
from gvibench.registry import DATASETS
from gvibench.spec.catalogue import find, target_kind
from gvibench.spec.run import DataSpec
from gvibench.store.bundled import bundled_path
from gvibench.store.delimited import layout_of
from gvibench.study.own_data import OwnData, read_own_data

__all__ = ["Shape", "column_names", "shape_of", "test_rows", "training_rows", "validate_data"]


class Shape(NamedTuple):
    """Sizes of a data set, None where they are unknown."""

    rows: int | None = None
    """Rows, without the data set's own test rows if these are known."""
    test_rows: int | None = None
    """Test rows of the data set's own test file."""
    columns: int | None = None
    rows_estimate: int | None = None
    """Number of rows of a file that is too large to count them."""


def validate_data(spec: DataSpec) -> None:
    """Raise UserError if a file cannot be read or a data set is too small for its split."""
    for path in (spec.path, spec.test_path):
        if path is not None and set(path) & set("{}"):
            raise UserError(
                f"data set '{spec.dataset}': '{path}' contains braces, which Snakemake reads as "
                "wildcards: rename the file"
            )
    shape = shape_of(spec)
    if spec.split != "given" and spec.path is not None and shape.test_rows:
        raise UserError(
            f"{spec.path} contains test rows: use split 'given', or remove them from the file"
        )
    if spec.split == "given" and spec.path is not None and shape.rows and not shape.test_rows:
        raise UserError(
            f"{spec.path} has no arrays 'X_test' and 'y_test', and no 'test_path' is given: "
            "split 'given' needs test rows"
        )
    if own := read_own_data(spec):
        _validate_rows(spec, own)
        own.validate_targets()
    _split(spec, shape)


def _validate_rows(spec: DataSpec, own: OwnData) -> None:
    if own.file.rows == 0:
        raise UserError(f"data set '{spec.dataset}': {spec.path} has no rows: add some")
    if own.file.rows == 1 and spec.split != "given":
        raise UserError(
            f"data set '{spec.dataset}': {spec.path} has 1 row, but at least 2 are needed, to "
            "train and to test: add rows"
        )


def column_names(spec: DataSpec) -> list[str]:
    """Return the columns of features, or an empty list if they are unknown."""
    if spec.path is not None:
        own = read_own_data(spec)
        return list(own.roles.features) if own is not None and own.file.details else []
    table = find(spec).table
    if table is not None:
        names = _bundled_columns(table.file)
        return [name for name in names if name not in {table.target, *table.drop}]
    if not DATASETS.is_built_in(spec.dataset):  # another package may name its columns
        return []
    return [f"x{column + 1}" for column in range(shape_of(spec).columns or 0)]


@cache
def _bundled_columns(file: str) -> tuple[str, ...]:
    """Return the columns of a bundled table. A study asks for them once per run."""
    return tuple(layout_of(bundled_path(file)).names)


def shape_of(spec: DataSpec) -> Shape:
    """Return the known sizes of the data set of a complete spec."""
    if spec.path is not None:
        own = read_own_data(spec)
        return Shape() if own is None else Shape(*own.sizes())
    entry = find(spec)
    columns = spec.options.get("d", entry.d)
    rows = spec.options.get("n", entry.n)
    if entry.has_test:
        known = [file.rows for file in entry.files]
        if len(known) == 2 and None not in known:
            return Shape(known[0], known[1], entry.d)
    return Shape(
        rows if isinstance(rows, int) else None, 0, columns if isinstance(columns, int) else None
    )


def training_rows(spec: DataSpec) -> int | None:
    """Return the number of training rows of a run, or None if it is unknown."""
    return _split(spec, shape_of(spec))[0]


def test_rows(spec: DataSpec) -> int | None:
    """Return the number of test rows of a run, or None if it is unknown."""
    return _split(spec, shape_of(spec))[1]


def _split(spec: DataSpec, shape: Shape) -> tuple[int | None, int | None]:
    """Return the numbers of training and test rows. Raise UserError if there are too few rows."""
    if spec.split == "given":
        test = _at_most(spec, "test", spec.test_size, shape.test_rows or None)
        own = shape.rows if shape.test_rows else None
        return _at_most(spec, "train", spec.train_size, own), test
    if shape.rows is None:
        return None, None
    total = shape.rows + (shape.test_rows or 0)
    if spec.split == "none":
        return total, 0
    train = _at_most(spec, "train", spec.train_size, total)
    test = _at_most(spec, "test", spec.test_size, total)
    if spec.train_size is None:
        train = total - test if test is not None else None
    if spec.test_size is None:
        test = total - train if train is not None else None
    if train is None or test is None:
        return None, None
    # Each of two classes needs a training row and, in a stratified split, a test row.
    classes = 2 if target_kind(spec) == "classes" else 1
    least_test = classes if spec.split == "random" else 1
    if train < classes or test < least_test or train + test > total:
        raise UserError(
            f"data set '{spec.dataset}' has {total} rows, of which train_size "
            f"{_shown(spec.train_size)} and test_size {_shown(spec.test_size)} take {train} for "
            f"training and {test} for testing: at least {classes} and {least_test} are needed, and "
            f"at most {total} in all"
        )
    return train, test


def _shown(size: float | None) -> str:
    return "(all others)" if size is None else f"{size:g}"


def _at_most(spec: DataSpec, part: str, size: float | None, available: int | None) -> int | None:
    """Return a size as a count. Round fractions like scikit-learn: train down, test up."""
    if size is None or available is None:
        return available
    if not isinstance(size, int):
        return math.floor(size * available) if part == "train" else math.ceil(size * available)
    if size > available:
        raise UserError(
            f"data set '{spec.dataset}': {part}_size is {size} but there are only {available} rows "
            "to choose from"
        )
    return size
