import numpy as np
import pytest

from gvibench.datasets.entries import MNIST_LIBSVM
from gvibench.datasets.read import read_idx, read_svmlight
from gvibench.registry import DATASETS
from gvibench.spec.catalogue import entry

LIBSVM_SETS = [
    "australian_scale",
    "diabetes_scale",
    "breast-cancer_scale",
    "mushrooms",
    "phishing",
    "mnist",
    "covtype",
    "leukemia",
]
PAPER_BETA = [1e-5, 1e-2, 1e-1, 1e-2, 1e-2, 1e-1, 2e-2, 2e-1]


def test_the_catalogue_contains_the_data_sets_of_the_paper() -> None:
    assert DATASETS.names()[:11] == [*LIBSVM_SETS, "wdbc", "digits-odd-even", "synthetic"]
    assert [entry(name).beta for name in LIBSVM_SETS] == PAPER_BETA


@pytest.mark.parametrize("name", LIBSVM_SETS)
def test_all_files_have_addresses_checksums_and_counts(name: str) -> None:
    dataset = entry(name)
    assert set(dataset.labels) == {"+1", "-1"}
    assert dataset.files
    for file in dataset.files:
        assert file.url.startswith("https://")
        assert file.url.endswith("/" + file.name)
        assert file.sha256 is not None
        assert len(file.sha256) == 64
    rows = [file.rows for file in dataset.files if file.rows]
    assert not rows or sum(rows) == dataset.n
    for file in (*dataset.files, *MNIST_LIBSVM):
        assert not file.label_counts or sum(file.label_counts.values()) == file.rows


@pytest.mark.parametrize("name", [name for name in LIBSVM_SETS if name not in {"mnist", "covtype"}])
def test_counts_agree_with_the_real_files(name: str, libsvm_data) -> None:
    dataset = entry(name)
    for file in dataset.files:
        (table,) = read_svmlight([libsvm_data / file.name], zero_based=False)
        labels, counts = np.unique(table.y, return_counts=True)
        assert table.x.shape == (file.rows, file.columns)
        assert table.x.shape[1] == dataset.d
        assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == file.label_counts
        assert np.count_nonzero(table.x.data) == file.nonzeros


def test_counts_of_mnist_agree_with_the_idx_files(libsvm_data) -> None:
    for part, file in zip(("train", "t10k"), MNIST_LIBSVM, strict=True):
        pixels = read_idx(libsvm_data / f"{part}-images-idx3-ubyte.gz").reshape(-1, 784)
        digits = read_idx(libsvm_data / f"{part}-labels-idx1-ubyte.gz")
        assert dict(enumerate(np.bincount(digits).tolist())) == file.label_counts
        assert np.count_nonzero(pixels) == file.nonzeros
        assert np.flatnonzero(pixels.any(axis=0))[-1] + 1 == file.columns
