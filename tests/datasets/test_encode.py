import json

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from gvibench.datasets.encode import Encoding, reject_constant
from gvibench.errors import UserError

JOBS = np.array(["smith", "clerk", "smith", "baker", "clerk"], dtype=object)
AGES = np.array([31.0, 44.0, 29.0, 60.0, 18.0])


def test_nominal_columns_become_one_hot() -> None:
    encoding = Encoding.learn({"job": JOBS, "age": AGES})
    assert encoding.feature_names == ["job=clerk", "job=smith", "age"]
    assert encoding.features_of == {"job": ["job=clerk", "job=smith"], "age": ["age"]}
    expected = [[0, 1, 31], [1, 0, 44], [0, 1, 29], [0, 0, 60], [1, 0, 18]]
    assert encoding.apply({"age": AGES, "job": JOBS}).tolist() == expected


LEVELS = {"text": st.sampled_from(["a", "B", "ab", "ä", "Z"]), "numbers": st.integers(-20, 120)}


@pytest.mark.parametrize("kind", LEVELS)
@given(st.data())
@settings(deadline=None, max_examples=50)
def test_agrees_with_scikit_learn(kind: str, data) -> None:
    rows = data.draw(st.lists(LEVELS[kind], min_size=3, max_size=30))
    rows += rows[:1]  # not a different value in each row
    if len(set(rows)) == 1:
        return
    column = np.array(rows, dtype=object if kind == "text" else None)
    encoding = Encoding.learn({"c": column}, categorical=["c"])
    known = OneHotEncoder(drop="first", sparse_output=False).fit(column[:, None])
    names = [f"c={name.removeprefix('c_')}" for name in known.get_feature_names_out(["c"])]
    assert encoding.feature_names == names
    assert np.array_equal(encoding.apply({"c": column}), known.transform(column[:, None]))


@given(st.permutations(["job", "age", "zip"]), st.permutations(range(5)))
@settings(deadline=None)
def test_order_of_columns_and_rows_does_not_matter(order, rows) -> None:
    columns = {"job": JOBS, "age": AGES, "zip": np.array([7, 10, 9, 9, 7])}
    encoding = Encoding.learn(columns, categorical=["zip"])
    other = Encoding.learn({name: columns[name][rows] for name in order}, categorical=["zip"])
    assert other.features_of == encoding.features_of
    places = [other.feature_names.index(name) for name in encoding.feature_names]
    assert np.array_equal(other.apply(columns)[:, places], encoding.apply(columns))


def test_levels_can_be_decoded() -> None:
    encoding = Encoding.learn({"job": JOBS})
    levels = dict(encoding.columns)["job"]
    one_hot = encoding.apply({"job": JOBS})
    decoded = [levels[int(row.argmax()) + 1 if row.any() else 0] for row in one_hot]
    assert decoded == JOBS.tolist()


def test_survives_json() -> None:
    encoding = Encoding.learn({"job": JOBS, "age": AGES})
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


def test_columns_of_a_data_frame() -> None:
    frame = pandas.DataFrame(
        {
            "member": [True, False, True],
            "job": pandas.Series(["a", "b", "a"], dtype="string"),
            "zip": pandas.Categorical([9, 10, 9]),
            "visits": np.array([1, 2, 4], dtype=np.uint8),
        }
    )
    columns = {str(name): frame[name].to_numpy() for name in frame}
    encoding = Encoding.learn(columns, categorical=["zip"])
    assert encoding.feature_names == ["member", "job=b", "zip=10", "visits"]
    assert encoding.apply(columns).tolist() == [[1, 0, 0, 1], [0, 1, 1, 2], [1, 0, 0, 4]]


GAP = np.array(["a", None, "b", "a"], dtype=object)


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        (
            {"a": np.array([1, np.nan, np.nan])},
            {},
            "'a' has no value in 2 rows, first in data row 2",
        ),
        ({"a": GAP}, {}, "column 'a' has no value in 1 row, first in data row 2"),
        ({"a": pandas.Series(GAP, dtype="string").array}, {}, "'a' has no value in 1 row"),
        (
            {"a": np.array([1.0, np.inf])},
            {},
            "'a' has an infinite value in 1 row, first in data row 2",
        ),
        ({"a": np.array([1e60])}, {}, "'a' has a value above 1e\\+50"),
        ({"a": np.array(["x", "x"])}, {}, "column 'a' is 'x' in all rows: drop it"),
        (
            {"a": np.array(["x", "y", "z"])},
            {},
            "a different value in each of its 3 rows, e.g. 'x': drop",
        ),
        (
            {"age": AGES},
            {"categorical": ["agee"]},
            r"no column 'agee', .* \(did you mean 'age'\?\)",
        ),
        ({"job": JOBS, "job=clerk": AGES}, {}, "two features 'job=clerk'"),
        ({}, {}, "has no columns for features"),
    ],
)
def test_invalid_columns(columns, settings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Encoding.learn(columns, **settings, where="credit.csv")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"job": np.array(["Smith"])}, "has no column 'age'"),
        ({"age": AGES[:1], "job": np.array(["smit"])}, r"'smit' in data row 1.*mean 'smith'"),
        ({"age": np.array(["old"]), "job": JOBS[:1]}, "should be numeric, but has the text 'old'"),
        ({"age": np.array([np.nan]), "job": JOBS[:1]}, "column 'age' has no value"),
    ],
)
def test_rows_that_do_not_fit(columns, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Encoding.learn({"job": JOBS, "age": AGES}).apply(columns)


def test_constant_columns_are_named() -> None:
    x = np.column_stack([AGES, np.ones(5), np.zeros(5)])
    with pytest.raises(UserError, match=r"'b' has the value 1 in all rows \(and 1 more columns\)"):
        reject_constant(x, ["a", "b", "c"], "credit.csv")
    reject_constant(x[:, :1], ["a"], "credit.csv")
