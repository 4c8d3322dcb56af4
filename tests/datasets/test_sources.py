import bz2
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gvibench.datasets import loaders as sources
from gvibench.datasets.catalogue import MNIST_IDX, File, complete, entry, find
from gvibench.datasets.loaders import Source, read_mnist_libsvm
from gvibench.datasets.read import read_idx
from gvibench.errors import UserError


def load(spec: dict) -> Source:
    completed = complete(spec)
    known = find(completed)
    return getattr(sources, known.loader.split(":")[1])(known, completed)


def test_wdbc() -> None:
    source = load({"dataset": "wdbc"})
    assert source.table.x.shape == (569, 30)
    assert (source.table.y == 1).sum() == 357  # benign


def test_digits_odd_even() -> None:
    from sklearn.datasets import load_digits

    source = load({"dataset": "digits-odd-even"})
    assert source.table.x.shape == (1797, 64)
    np.testing.assert_array_equal(source.table.y == 1, load_digits().target % 2 == 1)


def test_synthetic_obeys_its_options() -> None:
    source = load({"dataset": "synthetic", "options": {"n": 50, "d": 4}})
    assert source.table.x.shape == (50, 4)
    assert set(source.table.y) == {-1.0, 1.0}
    source = load({"dataset": "synthetic", "options": {"target": "regression"}})
    assert source.regression
    assert source.labels == {}


def test_another_number_of_columns_is_refused(tmp_path: Path, monkeypatch, own_file) -> None:
    monkeypatch.setattr(sources, "raw_file", lambda file: own_file)
    with pytest.raises(UserError, match=r"mine\.svm has 7 columns, but 'phishing' has 68"):
        load({"dataset": "phishing"})


@pytest.fixture
def small_mnist(libsvm_data, tmp_path: Path, write_svmlight) -> list[Path]:
    """The first 300 training and 200 test rows of MNIST as LIBSVM would write them."""
    paths = []
    for part, rows in (("train", 300), ("t10k", 200)):
        pixels = read_idx(libsvm_data / f"{part}-images-idx3-ubyte.gz")[:rows].reshape(-1, 784)
        digits = read_idx(libsvm_data / f"{part}-labels-idx1-ubyte.gz")[:rows]
        path = write_svmlight(tmp_path / f"{part}.svm", pixels, digits)
        packed = tmp_path / f"{part}.bz2"
        packed.write_bytes(bz2.compress(path.read_bytes()))
        paths.append(packed)
    return paths


def test_both_sources_of_mnist_agree(small_mnist, libsvm_data) -> None:
    with pytest.warns(UserWarning, match="does not hold the images of the original idx files"):
        from_libsvm = read_mnist_libsvm(small_mnist)  # it has only the first of them
    from_idx = sources.read_mnist_idx([libsvm_data / file.name for file in MNIST_IDX])
    for ours, theirs in zip(from_libsvm, from_idx, strict=True):
        assert ours[0].shape[1] == 784
        np.testing.assert_array_equal(ours[0], theirs[0][: len(ours[0])])
        np.testing.assert_array_equal(ours[1], theirs[1][: len(ours[1])])


def test_mnist_from_libsvm_is_loaded_like_that_from_idx(small_mnist, monkeypatch) -> None:
    from_idx = load({"dataset": "mnist"})
    facts = []
    for path, part in zip(small_mnist, (from_idx.table, from_idx.test), strict=True):
        lines = bz2.decompress(path.read_bytes()).splitlines()
        digits = Counter(int(line.split()[0]) for line in lines)
        rows = digits.total()
        columns = int(part.x[:rows].indices.max()) + 1
        nonzeros = part.x[:rows].nnz
        facts.append(File(path.name, "", None, None, False, rows, columns, digits, nonzeros))
    monkeypatch.setattr(sources, "MNIST_LIBSVM", facts)
    monkeypatch.setenv("GVIBENCH_DATA", str(small_mnist[0].parent))
    with pytest.warns(UserWarning, match="does not hold the images of the original idx files"):
        from_libsvm = load({"dataset": "mnist", "options": {"source": "libsvm"}})
    for ours, theirs in (
        (from_libsvm.table, from_idx.table),
        (from_libsvm.test, from_idx.test),
    ):
        rows = len(ours.y)
        assert ours.x.toarray().tobytes() == theirs.x[:rows].toarray().tobytes()
        np.testing.assert_array_equal(ours.y, theirs.y[:rows])


def test_the_content_check_recognises_the_original_images(libsvm_data) -> None:
    for file in MNIST_IDX:
        values = read_idx(libsvm_data / file.name)
        assert sources._idx_sha256(values) == file.content_sha256


def test_scaled_mnist_is_refused(tmp_path: Path, write_svmlight) -> None:
    path = write_svmlight(tmp_path / "a", np.array([[0.5, 1.0]]), np.array([3]))
    with pytest.raises(UserError, match="is not MNIST as LIBSVM has it"):
        read_mnist_libsvm([path, path])


@pytest.mark.parametrize(
    ("options", "rows", "positives"),
    [({}, 60000, 5923), ({"positive": 3, "negative": 8}, 6131 + 5851, 6131)],
)
def test_the_binary_tasks_of_mnist(libsvm_data, options, rows: int, positives: int) -> None:
    source = load({"dataset": "mnist", "options": options})
    assert source.table.x.shape == (rows, 784)
    assert source.table.y.sum() == positives
    assert source.table.x.max() == 1.0
    assert source.table.x.data.min() == 1 / 255
    assert source.labels["+1"] == f"the digit is a {options.get('positive', 0)}"
    assert set(source.sha256) == {file.name for file in MNIST_IDX}


def test_own_svmlight_files(tmp_path: Path, own_file, sparse_rows) -> None:
    source = load({"dataset": "mine", "path": str(own_file)})
    np.testing.assert_array_equal(source.table.x.toarray(), sparse_rows[0])
    assert source.test is None
    (tmp_path / "test.svm").write_text("1 2:1\n2 9:1\n")
    source = load({"dataset": "mine", "path": str(own_file), "test_path": f"{tmp_path}/test.svm"})
    assert source.test is not None
    assert source.table.x.shape[1] == source.test.x.shape[1] == 9
    assert set(source.sha256) == {"mine.svm", "test.svm"}


@pytest.fixture
def npz(tmp_path: Path, sparse_rows):
    def save(name: str, **arrays: np.ndarray) -> str:
        np.savez(tmp_path / name, **arrays)
        return str(tmp_path / name)

    x, y = sparse_rows
    return {
        "plain": save("plain.npz", X=x, y=y),
        "full": save("full.npz", X=x, y=y, X_test=x[:5], y_test=y[:5]),
        "narrow": save("narrow.npz", X=x[:, :3], y=y),
    }


def test_own_npz_files(npz, sparse_rows) -> None:
    source = load({"dataset": "mine", "path": npz["full"], "split": "given"})
    np.testing.assert_array_equal(source.table.x, sparse_rows[0])
    assert source.test is not None
    assert len(source.test.y) == 5
    source = load({"dataset": "mine", "path": npz["plain"], "test_path": npz["plain"]})
    assert source.test is not None
    assert len(source.test.y) == 60
    source = load({"dataset": "mine", "path": npz["plain"], "options": {"target": "regression"}})
    assert source.regression


def test_own_files_that_do_not_fit_are_one_sentence(npz, own_file) -> None:
    mine = {"dataset": "mine"}
    with pytest.raises(UserError, match="must both be svmlight files or both be"):
        load({**mine, "path": npz["plain"], "test_path": str(own_file)})
    with pytest.raises(UserError, match=r"has 7 columns but .* has 3"):
        load({**mine, "path": npz["plain"], "test_path": npz["narrow"]})
    with pytest.raises(UserError, match="has no arrays 'X_test' and 'y_test'"):
        load({**mine, "path": npz["plain"], "split": "given"})
    with pytest.raises(UserError, match="has test rows of its own: use split 'given'"):
        load({**mine, "path": npz["full"]})
    with pytest.raises(UserError, match="has test rows of its own: leave out 'test_path'"):
        load({**mine, "path": npz["full"], "test_path": npz["plain"]})


def test_real_files_load_without_a_warning(libsvm_data) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("australian_scale", "leukemia"):
            source = load({"dataset": name})
            assert source.table.x.shape[1] == entry(name).d
