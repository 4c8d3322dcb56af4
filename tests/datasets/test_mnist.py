import bz2
import dataclasses
import gzip
import hashlib
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from loading import load

from gvibench.datasets import mnist
from gvibench.datasets.entries import MNIST, MNIST_IDX
from gvibench.datasets.read import read_idx
from gvibench.errors import UserError
from gvibench.spec.catalogue import File
from gvibench.study.defaults import complete_data

SMALL = {"train": 300, "t10k": 200}
"""Number of rows of the smaller files."""


@pytest.fixture
def small_mnist(libsvm_data, tmp_path: Path, write_svmlight) -> list[Path]:
    """The first training and test rows of MNIST in LIBSVM's format."""
    paths = []
    for part, rows in SMALL.items():
        pixels = read_idx(libsvm_data / f"{part}-images-idx3-ubyte.gz")[:rows].reshape(-1, 784)
        digits = read_idx(libsvm_data / f"{part}-labels-idx1-ubyte.gz")[:rows]
        path = write_svmlight(tmp_path / f"{part}.svm", pixels, digits)
        packed = tmp_path / f"{part}.bz2"
        packed.write_bytes(bz2.compress(path.read_bytes()))
        paths.append(packed)
    return paths


def test_both_sources_hold_the_same_images_and_digits(small_mnist, libsvm_data) -> None:
    with pytest.warns(UserWarning, match="does not have the same images in the same order"):
        from_libsvm = mnist.read_mnist_libsvm(small_mnist, MNIST_IDX)
    from_idx = mnist.read_mnist_idx([libsvm_data / file.name for file in MNIST_IDX])
    for ours, theirs in zip(from_libsvm, from_idx, strict=True):
        assert ours[0].shape[1] == 784
        np.testing.assert_array_equal(ours[0], theirs[0][: len(ours[0])])
        np.testing.assert_array_equal(ours[1], theirs[1][: len(ours[1])])


def test_both_sources_give_the_same_rows(small_mnist, monkeypatch) -> None:
    from_idx = load({"dataset": "mnist"})
    files = []
    for path, part in zip(small_mnist, (from_idx.table, from_idx.test), strict=True):
        lines = bz2.decompress(path.read_bytes()).splitlines()
        digits = Counter(int(line.split()[0]) for line in lines)
        rows = digits.total()
        columns = int(part.x[:rows].indices.max()) + 1
        nonzeros = part.x[:rows].nnz
        files.append(File(path.name, "", None, None, False, rows, columns, digits, nonzeros))
    small = dataclasses.replace(MNIST, alternative_files=tuple(files))
    monkeypatch.setenv("GVIBENCH_DATA", str(small_mnist[0].parent))
    spec = complete_data({"dataset": "mnist", "options": {"source": "libsvm"}})
    with pytest.warns(UserWarning, match="does not have the same images in the same order"):
        from_libsvm = mnist.load(small, spec)
    for ours, theirs in (
        (from_libsvm.table, from_idx.table),
        (from_libsvm.test, from_idx.test),
    ):
        rows = len(ours.y)
        assert ours.x.toarray().tobytes() == theirs.x[:rows].toarray().tobytes()
        np.testing.assert_array_equal(ours.y, theirs.y[:rows])


def idx_files(folder: Path, part: str) -> list[bytes]:
    """Return the unpacked idx files of the first images and digits."""
    images, digits = (
        gzip.decompress((folder / f"{part}-{name}-ubyte.gz").read_bytes())
        for name in ("images-idx3", "labels-idx1")
    )
    rows = SMALL[part]
    count = rows.to_bytes(4)
    return [
        images[:4] + count + images[8 : 16 + 784 * rows],
        digits[:4] + count + digits[8 : 8 + rows],
    ]


def test_original_images_from_libsvm_give_no_warning(small_mnist, libsvm_data) -> None:
    contents = [content for part in SMALL for content in idx_files(libsvm_data, part)]
    files = [
        dataclasses.replace(file, content_sha256=hashlib.sha256(content).hexdigest())
        for file, content in zip(MNIST_IDX, contents, strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mnist.read_mnist_libsvm(small_mnist, files)
    files[-1] = MNIST_IDX[-1]
    with pytest.warns(UserWarning, match="t10k.bz2 does not have the same images"):
        mnist.read_mnist_libsvm(small_mnist, files)


def test_the_catalogue_has_the_hashes_of_the_unpacked_files(libsvm_data) -> None:
    for file in MNIST_IDX:
        content = gzip.decompress((libsvm_data / file.name).read_bytes())
        assert hashlib.sha256(content).hexdigest() == file.content_sha256


def test_scaled_pixels_are_an_error(tmp_path: Path, write_svmlight) -> None:
    path = write_svmlight(tmp_path / "a", np.array([[0.5, 1.0]]), np.array([3]))
    with pytest.raises(UserError, match="is not LIBSVM's file of MNIST"):
        mnist.read_mnist_libsvm([path, path], MNIST_IDX)


@pytest.mark.parametrize(
    ("options", "rows", "positives"),
    [({}, 60000, 5923), ({"positive": 3, "negative": 8}, 6131 + 5851, 6131)],
)
def test_options_choose_the_two_classes(libsvm_data, options, rows: int, positives: int) -> None:
    source = load({"dataset": "mnist", "options": options})
    assert source.table.x.shape == (rows, 784)
    assert source.table.y.sum() == positives
    assert source.table.x.max() == 1.0
    assert source.table.x.data.min() == 1 / 255
    assert source.labels["+1"] == f"the digit is a {options.get('positive', 0)}"
    assert set(source.sha256) == {file.name for file in MNIST_IDX}
