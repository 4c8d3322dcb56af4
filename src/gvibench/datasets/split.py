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
    """Draw the rows that `train_test_split` of scikit-learn draws.

    Importing scikit-learn takes longer than the rest of the job, and it is an optional dependency.
    """
    train, test = _sizes(spec, len(rows))
    if strata is not None:
        return _draw_stratified(spec, rows, strata, train, test)
    drawn = rows[np.random.RandomState(spec.split_seed).permutation(len(rows))]
    return drawn[test : test + train], drawn[:test]


def _sizes(spec: DataSpec, count: int) -> tuple[int, int]:
    """Return the numbers of training and test rows of a drawn split."""
    train = None if spec.train_size is None else _rounded("train", spec.train_size, count)
    test = None if spec.test_size is None else _rounded("test", spec.test_size, count)
    if test is None:
        test = count - (train or 0)
    if train is None:
        train = count - test
    shares = [size for size in (spec.train_size, spec.test_size) if isinstance(size, float)]
    is_above_one = len(shares) == 2 and sum(shares) > 1
    if min(train, test) < 1 or train + test > count or is_above_one:
        raise UserError(
            f"{_cannot(spec, count)} into {train} training and {test} test rows: change train_size "
            "or test_size"
        )
    return train, test


def _cannot(spec: DataSpec, count: int) -> str:
    return f"cannot split the {count} rows of '{spec.dataset}'"


def _draw_stratified(
    spec: DataSpec, rows: Rows, strata: NDArray[np.float64], train: int, test: int
) -> tuple[Rows, Rows]:
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        raise UserError(
            f"{_cannot(spec, len(rows))} by class: a class has one row, and 2 are needed; "
            "use split 'sklearn'"
        )
    if min(train, test) < len(counts):
        raise UserError(
            f"{_cannot(spec, len(rows))} into {train} training and {test} test rows: each part "
            f"needs a row of each of the {len(counts)} classes"
        )
    rng = np.random.RandomState(spec.split_seed)
    train_counts = _shares(counts, train, rng)
    test_counts = _shares(counts - train_counts, test, rng)
    parts: tuple[list[Rows], list[Rows]] = ([], [])
    for code, (first, second) in enumerate(zip(train_counts, test_counts, strict=True)):
        members = np.flatnonzero(codes == code)
        members = members[rng.permutation(len(members))]
        parts[0].append(members[:first])
        parts[1].append(members[first : first + second])
    chosen = [rng.permutation(np.concatenate(part)) for part in parts]
    return rows[chosen[0]], rows[chosen[1]]


def _shares(counts: NDArray[np.intp], total: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Distribute a total over classes in proportion to their counts.

    Rows that remain after rounding down go to the largest remainders, at random among equals.
    """
    exact = counts / counts.sum() * total
    shares = np.floor(exact)
    left = int(total - shares.sum())
    for remainder in np.unique(exact - np.floor(exact))[::-1]:
        if left == 0:
            break
        equal = np.flatnonzero(exact - np.floor(exact) == remainder)
        chosen = rng.choice(equal, min(len(equal), left), replace=False)
        shares[chosen] += 1
        left -= len(chosen)
    return np.asarray(shares, dtype=np.intp)


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
    """Return a size as a number of rows. None stands for all of them."""
    if size is None:
        return available
    size = _rounded(part, size, available)
    if size > available:
        raise UserError(
            f"data set '{spec.dataset}': {part}_size is {size}, but only {available} rows are "
            f"available: set {part}_size to at most {available}"
        )
    return size


def _rounded(part: str, size: float, available: int) -> int:
    """Return a size as a number of rows, which may be too large.

    Fractions are rounded as in scikit-learn: down for training rows and up for test rows.
    """
    if isinstance(size, float):
        size = math.floor(size * available) if part == "train" else math.ceil(size * available)
    return int(size)
