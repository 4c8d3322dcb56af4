"""Split rows into training and test rows."""

import math

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError
from gvibench.spec.run import DataSpec

__all__ = ["split_rows"]

Rows = NDArray[np.intp]


def split_rows(
    spec: DataSpec, count: int, own_test_rows: int, strata: NDArray[np.float64] | None
) -> tuple[Rows, Rows]:
    """Return the indices of the training rows and of the test rows.

    Parameters
    ----------
    spec
        Complete spec.
    count
        Number of rows.
    own_test_rows
        Number of rows at the end that are the data set's own test rows. Only the split `given`
        treats them differently from the others.
    strata
        Labels by which the split `random` is stratified; None for regression.
    """
    rows = np.arange(count)
    if spec.split == "none":
        return rows, rows[:0]
    if spec.split == "given":
        border = count - own_test_rows
        return _subsample(spec, rows[:border], rows[border:], spec.train_size)
    if spec.split == "first":
        border = _count(spec, "train", spec.train_size, count)
        return _subsample(spec, rows[:border], rows[border:], None)
    return _draw(spec, rows, strata if spec.split == "random" else None)


def _draw(spec: DataSpec, rows: Rows, strata: NDArray[np.float64] | None) -> tuple[Rows, Rows]:
    if strata is None and (drawn := _draw_unstratified(spec, rows)):
        return drawn
    cannot = f"cannot split the {len(rows)} rows of '{spec.dataset}'"
    try:
        from sklearn.model_selection import train_test_split
    except ImportError as error:
        if strata is None:  # scikit-learn would only explain what is wrong with the sizes
            sizes = f"train_size {spec.train_size} and test_size {spec.test_size}"
            raise UserError(f"{cannot} into {sizes}") from error
        raise UserError("split 'random' needs: pip install 'gvibench[data]'") from error
    try:
        train, test = train_test_split(
            rows,
            train_size=spec.train_size,
            test_size=spec.test_size,
            random_state=spec.split_seed,
            stratify=strata,
        )
    except ValueError as error:
        raise UserError(f"{cannot}: {error}") from error
    return train, test


def _draw_unstratified(spec: DataSpec, rows: Rows) -> tuple[Rows, Rows] | None:
    """Draw the rows that `train_test_split` draws, or return None if the sizes are invalid.

    Importing scikit-learn takes longer than the rest of the job.
    """
    count = len(rows)
    test, train = spec.test_size, spec.train_size
    if isinstance(test, float) and isinstance(train, float) and test + train > 1:
        return None
    if isinstance(test, float):
        test = math.ceil(test * count)
    if isinstance(train, float):
        train = math.floor(train * count)
    if test is None:
        test = count - (train or 0)
    if train is None:
        train = count - test
    if min(train, test) < 1 or train + test > count:
        return None
    drawn = rows[np.random.RandomState(spec.split_seed).permutation(count)]
    return drawn[test : test + train], drawn[:test]


def _subsample(
    spec: DataSpec, train: Rows, test: Rows, train_size: float | None
) -> tuple[Rows, Rows]:
    # Two generators, so that the number of training rows does not change the test rows.
    train_rng, test_rng = np.random.default_rng(spec.split_seed).spawn(2)
    return (
        _choose(train_rng, train, _count(spec, "train", train_size, len(train))),
        _choose(test_rng, test, _count(spec, "test", spec.test_size, len(test))),
    )


def _choose(rng: np.random.Generator, rows: Rows, count: int) -> Rows:
    return np.sort(rng.choice(rows, count, replace=False)) if count < len(rows) else rows


def _count(spec: DataSpec, part: str, size: float | None, available: int) -> int:
    """Return a size as a number of rows.

    Fractions are rounded as in scikit-learn: down for training rows and up for test rows.
    """
    if size is None:
        return available
    if isinstance(size, float):
        size = math.floor(size * available) if part == "train" else math.ceil(size * available)
    if size > available:
        raise UserError(
            f"data set '{spec.dataset}': {part}_size is {size}, but only {available} rows are "
            f"available: set {part}_size to at most {available}"
        )
    return int(size)
