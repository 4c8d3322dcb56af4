"""Test that a plan rejects the data that cannot be prepared, without preparing them."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from gvibench.datasets.build import build
from gvibench.errors import UserError
from gvibench.store.prepared import read_prepared
from gvibench.study.data_shape import shape_of, training_rows, validate_data
from gvibench.study.defaults import complete_data

SVMLIGHT = b"1 1:2 2:0.5\n-1 1:1\n" * 20
GOOD = {
    "plain.svm": SVMLIGHT,
    "any.csv": SVMLIGHT,
    "comments.svm": b"# by hand\n\n" + SVMLIGHT + b"1 2:3 # the last\n",
    "windows.svm": SVMLIGHT.replace(b"\n", b"\r\n"),
    "queries.svm": SVMLIGHT.replace(b" 1:", b" qid:1 1:"),
    "packed.gz": gzip.compress(SVMLIGHT),
}
BAD = {
    "words.txt": (b"a list\nof notes\n", "has 1 row"),
    "one-row.csv.gz": (gzip.compress(b"1,2\n"), "has 1 row, but at least 2 are needed"),
    "column.csv": (b"a\n1\n2\n", "has one column, 'a', but needs features and a target"),
    "latin.csv": ("größe,y\n1,2\n".encode("latin-1"), "is not UTF-8 text"),
    "cut.gz": (gzip.compress(SVMLIGHT)[:30], "cannot read"),
    "image.png": (b"\x89PNG\r\n\x1a\n" + bytes(100), "is no table, svmlight file or .npz file"),
    "empty.svm": (b"", "holds no rows"),
    "remarks.svm": (b"# nothing\n", "holds no rows"),
    "text.npz": (SVMLIGHT, "is not a complete zip archive of arrays"),
    "three.svm": (b"1 1:2\n2 1:1\n3 1:5\n", "more than two different labels"),
    "one.svm": (b"1 1:2\n1 1:1\n1 1:5\n", "has one label"),
}
X = np.random.default_rng(0).standard_normal((40, 3))
ARRAYS = {
    "no 'y'": ({"X": X}, "has no array 'y'"),
    "a wide y": ({"X": X, "y": X}, "an array 'y' of shape"),
    "a short y": ({"X": X, "y": X[:5, 0]}, "has 40 rows in X but 5 targets in y"),
    "text": ({"X": X.astype(str), "y": X[:, 0]}, "'X' that is not numeric"),
    "real targets": ({"X": X, "y": X[:, 0]}, "use model 'linear'"),
    "test rows": ({"X": X, "y": X[:, 0] > 0, "X_test": X, "y_test": X[:, 0] > 0}, "split 'given'"),
}


def own(path: Path, **fields):
    return complete_data(
        {"dataset": "mine", "path": str(path), **fields}, fields.pop("model", None)
    )


@pytest.mark.parametrize("name", GOOD)
def test_valid_files_are_accepted(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(GOOD[name])
    spec = own(tmp_path / name)
    validate_data(spec)
    build(spec, tmp_path / "out.zarr.zip")
    data = read_prepared(tmp_path / "out.zarr.zip")
    assert shape_of(spec).rows == len(data.train_y) + len(data.test_y)
    assert training_rows(spec) == len(data.train_y)


def assert_rejected(spec, sentence: str, out: Path) -> None:
    for check in (validate_data, lambda spec: build(spec, out)):
        with pytest.raises(UserError) as caught:
            check(spec)
        assert "\n" not in str(caught.value)
        if check is validate_data:
            assert sentence in str(caught.value)


@pytest.mark.parametrize("name", BAD)
def test_invalid_files_are_rejected(name: str, tmp_path: Path) -> None:
    content, sentence = BAD[name]
    (tmp_path / name).write_bytes(content)
    assert_rejected(own(tmp_path / name), sentence, tmp_path / "out.zarr.zip")


@pytest.mark.parametrize("what", ARRAYS)
def test_invalid_arrays_are_rejected(what: str, tmp_path: Path) -> None:
    arrays, sentence = ARRAYS[what]
    np.savez(tmp_path / "mine.npz", **arrays)
    assert_rejected(own(tmp_path / "mine.npz"), sentence, tmp_path / "out.zarr.zip")


SIZES = [
    *(({"train_size": size}, size) for size in (2, 30, 39, 0.5)),
    *(({"train_size": size}, None) for size in (1, 40, 41, 0.001)),
    *(({"test_size": size}, 40 - size) for size in (1, 10)),
    *(({"test_size": size}, None) for size in (39, 40, 50)),
    ({"train_size": 30, "test_size": 11}, None),
    ({"train_size": 0.9, "test_size": 0.2}, None),
    ({"split": "first", "train_size": 40}, None),
    ({"split": "first", "train_size": 30, "test_size": 11}, None),
    ({"split": "random", "train_size": 1}, None),
    ({"split": "random", "train_size": 39}, None),
]


@pytest.mark.parametrize(("fields", "rows"), SIZES)
@pytest.mark.parametrize("where", ["catalogue", "svm", "npz"])
def test_sizes_are_compared_with_the_number_of_rows(where, fields, rows, tmp_path: Path) -> None:
    if where == "catalogue":
        spec = complete_data({"dataset": "synthetic", "options": {"n": 40, "d": 3}, **fields})
    elif where == "svm":
        (tmp_path / "mine.svm").write_bytes(SVMLIGHT)
        spec = own(tmp_path / "mine.svm", **fields)
    else:
        np.savez(tmp_path / "mine.npz", X=X, y=X[:, 0] > 0)
        spec = own(tmp_path / "mine.npz", **fields)
    if rows is None:
        assert_rejected(spec, "rows", tmp_path / "out.zarr.zip")
    else:
        validate_data(spec)
        assert training_rows(spec) == (rows if isinstance(rows, int) else rows * 40)


def test_own_test_rows_bound_the_sizes() -> None:
    for fields, sentence in (
        ({"train_size": 39}, "train_size is 39 but there are only 38 rows"),
        ({"test_size": 35}, "test_size is 35 but there are only 34 rows"),
    ):
        with pytest.raises(UserError, match=sentence):
            validate_data(complete_data({"dataset": "leukemia", **fields}))


def test_folders_and_braces_in_paths_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder"):
        validate_data(own(tmp_path))
    with pytest.raises(UserError, match="braces, which Snakemake reads as wildcards"):
        validate_data(own(tmp_path / "a{b}.npz"))


def test_a_missing_file_is_accepted_because_snakemake_may_create_it(tmp_path: Path) -> None:
    validate_data(own(tmp_path / "later.svm"))
