import bz2
import gzip
from pathlib import Path

import numpy as np
import pytest

from gvibench.datasets.read import read_idx, read_npz, read_svmlight
from gvibench.errors import UserError


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_packed_svmlight_is_recognised_by_its_content(
    tmp_path: Path, own_file, sparse_rows, pack
) -> None:
    packed = tmp_path / "mine.part"
    packed.write_bytes(pack(own_file.read_bytes()))
    (table,) = read_svmlight([packed], zero_based=False)
    np.testing.assert_array_equal(table.x.toarray(), sparse_rows[0])
    np.testing.assert_array_equal(table.y, sparse_rows[1])


def test_files_share_their_columns(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1 1:1 5:2\n")
    (tmp_path / "b").write_text("2 2:1\n")
    first, second = read_svmlight([tmp_path / "a", tmp_path / "b"], zero_based="auto")
    assert first.x.shape == second.x.shape == (1, 5)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty: it has 0 rows"),
        (b"# nothing\n", "is empty: it has 0 rows"),
        (b"1 1:nan\n", "has values that are not finite"),
        (b"1 1:inf\n", "has values that are not finite"),
        (b"nan 1:1\n", "has labels that are not finite"),
        (b"what is this\n", "cannot read .*bad.svm as svmlight"),
        (b"<html>\n", "cannot read .*bad.svm as svmlight"),
        (b"1 0:3\n", "cannot read .*bad.svm as svmlight: Invalid index 0"),
        (b"1 3:1 2:1\n", "cannot read .*bad.svm as svmlight: Feature indices"),
        (b"1 99999999999999999999:1\n", "cannot read .*bad.svm as svmlight"),
        (b"\xff\xfe\x00", "cannot read .*bad.svm as svmlight"),
        (bz2.compress(b"1 1:1\n" * 1000)[:-5], "cannot read .*bad.svm as svmlight"),
        (gzip.compress(b"1 1:1\n" * 1000, mtime=0)[:-5], "cannot read .*bad.svm as svmlight"),
        (b"BZh9 not really", "cannot read .*bad.svm as svmlight"),
    ],
)
def test_invalid_svmlight_is_an_error_in_one_sentence(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "bad.svm"
    path.write_bytes(content)
    with pytest.raises(UserError, match=sentence) as caught:
        read_svmlight([path], zero_based=False)
    assert "\n" not in str(caught.value)


def test_the_message_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.svm does not exist"):
        read_svmlight([tmp_path / "none.svm"], zero_based="auto")
    with pytest.raises(UserError, match=r"none\.npz does not exist"):
        read_npz(tmp_path / "none.npz")


def test_npz_with_and_without_test_rows(tmp_path: Path) -> None:
    x, y = np.arange(6).reshape(3, 2), np.array([0, 1, 1])
    np.savez(tmp_path / "a.npz", X=x, y=y)
    table, test = read_npz(tmp_path / "a.npz")
    assert table.x.dtype == table.y.dtype == np.float64
    np.testing.assert_array_equal(table.x, x)
    assert test is None
    np.savez(tmp_path / "b.npz", X=x, y=y, X_test=x[:1], y_test=y[:1])
    table, test = read_npz(tmp_path / "b.npz")
    assert test is not None
    np.testing.assert_array_equal(test.x, x[:1])


def test_other_arrays_in_an_npz_are_not_read(tmp_path: Path) -> None:
    notes = np.array(["a", None], dtype=object)  # stored as a pickle, which must not be loaded
    np.savez(tmp_path / "a.npz", X=X, y=Y, notes=notes)
    assert read_npz(tmp_path / "a.npz")[0].x.shape == (3, 2)


X, Y = np.ones((3, 2)), np.array([0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": X}, r"has no array 'y': save it with X=\.\.\., y="),
        ({"x": X, "y": Y}, "has no array 'X'"),
        ({}, "has no array 'X'"),
        ({"X": X, "y": Y[:2]}, "'X' has 3 rows but 'y' has 2 labels"),
        ({"X": X[0], "y": Y}, "'X' must be numeric with 2 dimensions, not float64 of shape"),
        ({"X": X, "y": Y[:, None]}, "'y' must be numeric with 1 dimensions"),
        ({"X": X, "y": np.array(["a", "b", "b"])}, "'y' must be numeric"),
        ({"X": X, "y": Y, "offset": Y[:2]}, "'X' has 3 rows but 'offset' has 2 values"),
        ({"X": X, "y": Y, "feature_names": ["a"]}, "must have 2 different names"),
        ({"X": X, "y": Y, "feature_names": ["a", "a"]}, "must have 2 different names"),
        (
            {"X": X, "y": Y, "feature_names": np.array(["a", None], dtype=object)},
            r"'feature_names' is not an array of text: save it with .*dtype=str",
        ),
        ({"X": X[:0], "y": Y[:0]}, "is empty: it has 0 rows and 2 columns"),
        ({"X": X[:, :0], "y": Y}, "is empty: it has 3 rows and 0 columns"),
        ({"X": X, "y": Y, "X_test": X}, "has no array 'y_test'"),
        ({"X": X, "y": Y, "X_test": X[:, :1], "y_test": Y}, "X has 2 columns but X_test has 1"),
        ({"X": np.array([[object()]]), "y": Y[:1]}, "cannot read .*bad.npz as .npz"),
    ],
)
def test_invalid_arrays_are_an_error_in_one_sentence(tmp_path: Path, arrays, sentence: str) -> None:
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(UserError, match=sentence) as caught:
        read_npz(tmp_path / "bad.npz")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 cut off"])
def test_a_file_that_is_not_npz_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.npz").write_bytes(content)
    with pytest.raises(UserError, match=r"cannot read .*bad\.npz as \.npz"):
        read_npz(tmp_path / "bad.npz")


def test_an_npy_file_is_not_npz(tmp_path: Path) -> None:
    np.save(tmp_path / "bad.npy", X)
    (tmp_path / "bad.npy").rename(tmp_path / "bad.npz")
    with pytest.raises(UserError, match="it is not a zip archive of arrays"):
        read_npz(tmp_path / "bad.npz")


IDX = b"\0\0\x08\x02" + (2).to_bytes(4) + (3).to_bytes(4) + bytes(range(6))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_files_are_read(tmp_path: Path, pack) -> None:
    (tmp_path / "a").write_bytes(pack(IDX))
    np.testing.assert_array_equal(read_idx(tmp_path / "a"), np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not an idx file"),
        (b"<html>", "is not an idx file"),
        (IDX[:-1], r"has 5 bytes of data, which does not match the shape \(2, 3\)"),
        (IDX[:10], "ends inside its header"),
        (gzip.compress(IDX, mtime=0)[:-3], "is truncated or damaged"),
    ],
)
def test_invalid_idx_is_an_error(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(UserError, match=sentence):
        read_idx(tmp_path / "a")
