import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from gvibench.datasets.split import split_rows
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec


def split(count: int = 100, own_test_rows: int = 0, strata=None, **fields):
    spec = DataSpec(dataset="toy", **fields)
    return split_rows(spec, count, own_test_rows, strata)


def test_sklearn_is_the_split_of_the_paper() -> None:
    rows = np.arange(690)
    expected = train_test_split(rows, test_size=0.2, random_state=42)
    strata = np.where(rows < 5, 1.0, -1.0)
    for ours, theirs in zip(split(690, strata=strata, test_size=0.2), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@settings(max_examples=300, deadline=None)
@given(
    count=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(*[st.none() | st.integers(1, 41) | st.floats(0.01, 0.99)] * 2),
    classes=st.integers(0, 3),
)
def test_drawn_rows_are_those_of_scikit_learn(count, seed, sizes, classes) -> None:
    assume(any(size is not None for size in sizes))
    fields = dict(zip(("train_size", "test_size"), sizes, strict=True))
    labels = np.random.default_rng(seed).integers(classes, size=count) if classes else None
    kind = {"split": "sklearn" if labels is None else "random", "split_seed": seed}
    try:
        expected = train_test_split(np.arange(count), **fields, random_state=seed, stratify=labels)
    except ValueError:
        with pytest.raises(UserError, match=f"cannot split the {count} rows of 'toy'"):
            split(count, strata=labels, **fields, **kind)
        return
    for ours, theirs in zip(split(count, strata=labels, **fields, **kind), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_random_is_stratified() -> None:
    strata = np.where(np.arange(100) < 10, 1.0, -1.0)
    train, test = split(strata=strata, split="random", test_size=0.2, split_seed=3)
    assert (strata[train] > 0).sum() == 8
    assert (strata[test] > 0).sum() == 2
    other, _ = split(strata=strata, split="random", test_size=0.2, split_seed=4)
    assert not np.array_equal(train, other)


def test_first_and_given_keep_the_order() -> None:
    train, test = split(10, split="first", train_size=7)
    assert (train.tolist(), test.tolist()) == (list(range(7)), [7, 8, 9])
    train, test = split(10, split="first", train_size=0.75)
    assert len(train) == 7
    train, test = split(10, own_test_rows=4, split="given")
    assert (train.tolist(), test.tolist()) == (list(range(6)), [6, 7, 8, 9])


def test_given_rows_are_subsampled_in_order() -> None:
    train, test = split(100, own_test_rows=40, split="given", train_size=30, test_size=0.5)
    assert (len(train), len(test)) == (30, 20)
    assert (np.diff(train) > 0).all()
    assert (np.diff(test) > 0).all()
    assert train.max() < 60 <= test.min()
    _, same_test = split(100, own_test_rows=40, split="given", train_size=10, test_size=0.5)
    np.testing.assert_array_equal(test, same_test)
    other, _ = split(100, own_test_rows=40, split="given", train_size=30, split_seed=1)
    assert not np.array_equal(train, other)


def test_first_subsamples_only_the_test_rows() -> None:
    train, test = split(split="first", train_size=50, test_size=10)
    assert train.tolist() == list(range(50))
    assert len(test) == 10
    assert test.min() >= 50


@settings(max_examples=80, deadline=None)
@given(
    kind=st.sampled_from(["sklearn", "random", "first", "given"]),
    count=st.integers(30, 200),
    seed=st.integers(0, 2**32 - 1),
    train_size=st.sampled_from([0.5, 7, 0.3]),
    test_size=st.sampled_from([None, 0.4, 5]),
)
def test_splits_are_disjoint_and_reproducible(kind, count, seed, train_size, test_size) -> None:
    strata = np.where(np.arange(count) % 3 == 0, 1.0, -1.0)
    fields = {"split": kind, "split_seed": seed, "train_size": train_size, "test_size": test_size}
    train, test = split(count, 10, strata, **fields)
    assert len(train) > 0
    assert len(test) > 0
    chosen = np.concatenate([train, test])
    assert len(np.unique(chosen)) == len(chosen)
    assert chosen.min() >= 0
    assert chosen.max() < count
    for first, again in zip((train, test), split(count, 10, strata, **fields), strict=True):
        np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"split": "first", "train_size": 101}, "train_size is 101, but only 100 rows"),
        ({"split": "given", "test_size": 11}, "test_size is 11, but only 10 rows"),
        ({"split": "given", "train_size": 91}, "train_size is 91, but only 90 rows"),
        ({"train_size": 99, "test_size": 2}, "'toy' into 99 training and 2 test rows"),
        ({"train_size": 101}, "cannot split the 100 rows of 'toy'"),
        ({"split": "random", "test_size": 1}, "'toy' into 99 training and 1 test rows: .*classes"),
    ],
)
def test_impossible_sizes_are_an_error(fields: dict, sentence: str) -> None:
    strata = np.where(np.arange(100) % 3 == 0, 1.0, -1.0)
    with pytest.raises(UserError, match=sentence):
        split(100, 10, strata, **fields)
