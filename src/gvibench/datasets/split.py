"""Which rows train and which test."""

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
    """Return the indices of the training and of the test rows.

    Parameters
    ----------
    spec
        A complete spec.
    count
        How many rows there are.
    own_test_rows
        How many of the last rows are the set's own test rows; other splits than ``given`` treat
        them like all others.
    strata
        The labels whose shares the split ``random`` keeps; none for regression.
    """
    rows = np.arange(count)
    if spec.split == "given":
        border = count - own_test_rows
        return _subsample(spec, rows[:border], rows[border:], spec.train_size)
    if spec.split == "first":
        border = _count(spec, "train", spec.train_size, count)
        return _subsample(spec, rows[:border], rows[border:], None)
    return _draw(spec, rows, strata if spec.split == "random" else None)


def _draw(spec: DataSpec, rows: Rows, strata: NDArray[np.float64] | None) -> tuple[Rows, Rows]:
    from sklearn.model_selection import train_test_split

    try:
        train, test = train_test_split(
            rows,
            train_size=spec.train_size,
            test_size=spec.test_size,
            random_state=spec.split_seed,
            stratify=strata,
        )
    except ValueError as error:
        raise UserError(
            f"cannot split the {len(rows)} rows of '{spec.dataset}': {error}"
        ) from error
    return train, test


def _subsample(
    spec: DataSpec, train: Rows, test: Rows, train_size: float | None
) -> tuple[Rows, Rows]:
    # One generator each: how many training rows are kept does not change the test rows.
    of_train, of_test = np.random.default_rng(spec.split_seed).spawn(2)
    return (
        _keep(of_train, train, _count(spec, "train", train_size, len(train))),
        _keep(of_test, test, _count(spec, "test", spec.test_size, len(test))),
    )


def _keep(rng: np.random.Generator, rows: Rows, count: int) -> Rows:
    return np.sort(rng.choice(rows, count, replace=False)) if count < len(rows) else rows


def _count(spec: DataSpec, part: str, size: float | None, available: int) -> int:
    """Return a size as a count; fractions round as in scikit-learn: train down, test up."""
    if size is None:
        return available
    if isinstance(size, float):
        size = math.floor(size * available) if part == "train" else math.ceil(size * available)
    if size > available:
        raise UserError(
            f"data set '{spec.dataset}': {part}_size is {size} but there are only "
            f"{available} rows to choose from"
        )
    return int(size)
