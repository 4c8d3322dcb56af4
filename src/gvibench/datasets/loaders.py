"""What loads each data set: one function per kind, named by `Entry.loader`.

A loader returns the raw rows and labels. Splitting, mapping the labels to ±1 and scaling are the
same for all sets and happen afterwards.
"""

import hashlib
import struct
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.catalogue import MNIST_IDX, MNIST_LIBSVM, Entry, is_npz
from gvibench.datasets.fetch import raw_file, sha256_of
from gvibench.datasets.read import Table, read_idx, read_npz, read_svmlight
from gvibench.datasets.synthetic import generate
from gvibench.errors import UserError
from gvibench.spec.run import DataSpec

__all__ = ["Source", "digits_odd_even", "libsvm", "mnist", "synthetic", "user_file", "wdbc"]

PIXELS = 28 * 28


@dataclass(frozen=True)
class Source:
    """A data set as it was loaded."""

    table: Table
    test: Table | None = None
    """The set's own test rows, if it has any."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What ``+1`` and ``-1`` mean; by default what the catalogue says."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """The hashes of the files that were read, by name."""
    regression: bool = False
    """Whether y is a real number to predict, not one of two labels."""


def libsvm(entry: Entry, spec: DataSpec) -> Source:
    """Load a binary set in LIBSVM's format: training rows, then test rows if there are any."""
    paths = [raw_file(file) for file in entry.files]
    tables = read_svmlight(paths, zero_based=False)
    for table, path in zip(tables, paths, strict=True):
        if entry.d is not None and table.x.shape[1] != entry.d:
            raise UserError(
                f"{path} has {table.x.shape[1]} columns, but '{entry.name}' has {entry.d}: "
                f"it is not the file of that data set"
            )
    return Source(tables[0], tables[1] if len(tables) > 1 else None, entry.labels, _hashes(paths))


def mnist(entry: Entry, spec: DataSpec) -> Source:
    """Load two classes of MNIST, pixels divided by 255."""
    positive, negative = spec.options["positive"], spec.options["negative"]
    from_idx = spec.options["source"] == "idx"
    paths = [raw_file(file) for file in (MNIST_IDX if from_idx else MNIST_LIBSVM)]
    images = read_mnist_idx(paths) if from_idx else read_mnist_libsvm(paths)
    train, test = (_two_digits(pixels, digit, positive, negative) for pixels, digit in images)
    rest = "any other digit" if negative == "rest" else f"a {negative}"
    labels = {"+1": f"the digit is a {positive}", "-1": f"the digit is {rest}"}
    return Source(train, test, labels, _hashes(paths))


Images = tuple[NDArray[np.uint8], NDArray[np.uint8]]


def read_mnist_idx(paths: list[Path]) -> list[Images]:
    """Return pixels and digits of the training and of the test rows, from the four idx files."""
    arrays = [read_idx(path) for path in paths]
    for images, digits, path in zip(arrays[::2], arrays[1::2], paths[::2], strict=True):
        if digits.ndim != 1 or images.shape != (len(digits), 28, 28) or len(digits) == 0:
            raise UserError(
                f"{path} holds an array of shape {images.shape} for labels of shape "
                f"{digits.shape}, not images of 28 x 28 with a digit each: get both files again"
            )
    return [
        (images.reshape(-1, PIXELS), digits)
        for images, digits in zip(arrays[::2], arrays[1::2], strict=True)
    ]


def read_mnist_libsvm(paths: list[Path]) -> list[Images]:
    """Return the same from LIBSVM's two files, which leave out columns that are always zero."""
    images = []
    tables = read_svmlight(paths, zero_based=False)
    for table, path, image_file, label_file in zip(
        tables, paths, MNIST_IDX[::2], MNIST_IDX[1::2], strict=True
    ):
        pixels, digits = _pixels(table, path), table.y.astype(np.uint8)
        same_images = _idx_sha256(pixels.reshape(-1, 28, 28)) == image_file.content_sha256
        if not (same_images and _idx_sha256(digits) == label_file.content_sha256):
            warnings.warn(
                f"{path} does not hold the images of the original idx files in their order",
                stacklevel=2,
            )
        images.append((pixels, digits))
    return images


def _pixels(table: Table, path: Path) -> NDArray[np.uint8]:
    rows, columns = table.x.shape
    values = table.x.data
    if columns > PIXELS or ((values < 0) | (values > 255) | (values % 1 != 0)).any():
        raise UserError(
            f"{path} is not MNIST as LIBSVM has it: expected at most {PIXELS} columns of whole "
            f"numbers from 0 to 255"
        )
    pixels = np.zeros((rows, PIXELS), np.uint8)
    pixels[:, :columns] = table.x.astype(np.uint8).toarray()
    return pixels


def _idx_sha256(values: NDArray[np.uint8]) -> str:
    """Return the hash that an idx file of these values would have, unpacked."""
    header = struct.pack(f">HBB{values.ndim}I", 0, 0x08, values.ndim, *values.shape)
    return hashlib.sha256(header + values.tobytes()).hexdigest()


def _two_digits(
    pixels: NDArray[np.uint8], digits: NDArray[np.uint8], positive: object, negative: object
) -> Table:
    import scipy.sparse

    is_positive = digits == int(str(positive))
    if negative != "rest":
        chosen = is_positive | (digits == int(str(negative)))
        pixels, is_positive = pixels[chosen], is_positive[chosen]
    # Four pixels in five are zero: dense float64 would need half a gigabyte on the way.
    x = scipy.sparse.csr_array(pixels).astype(np.float64)
    x.data /= 255.0
    return Table(x, is_positive.astype(np.float64))


def wdbc(entry: Entry, spec: DataSpec) -> Source:
    """Load the breast-cancer data that come with scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return Source(_table(x, y), labels=entry.labels)


def digits_odd_even(entry: Entry, spec: DataSpec) -> Source:
    """Load the digits that come with scikit-learn, odd ones against even ones."""
    from sklearn.datasets import load_digits

    x, digit = load_digits(return_X_y=True)
    return Source(_table(x, digit % 2), labels=entry.labels)


def synthetic(entry: Entry, spec: DataSpec) -> Source:
    """Generate a set; see `gvibench.datasets.synthetic`."""
    options: dict[str, Any] = dict(spec.options)
    regression = options.pop("target") == "regression"
    table = Table(*generate(**options, regression=regression))
    return Source(table, labels={} if regression else entry.labels, regression=regression)


def user_file(entry: Entry, spec: DataSpec) -> Source:
    """Load the user's own svmlight or ``.npz`` file, and the test file if one is given."""
    paths = [Path(path).expanduser() for path in (spec.path, spec.test_path) if path is not None]
    npz = [is_npz(str(path)) for path in paths]
    if len(set(npz)) > 1:
        raise UserError(
            f"data set '{spec.dataset}': 'path' and 'test_path' must both be svmlight files or "
            f"both be .npz files"
        )
    table, test = _read_npz_files(paths) if npz[0] else _read_svmlight_files(paths)
    if spec.split == "given" and test is None:
        raise UserError(
            f"{paths[0]} has no arrays 'X_test' and 'y_test', and no 'test_path' is given: "
            f"split 'given' needs test rows"
        )
    if spec.split != "given" and test is not None:
        raise UserError(
            f"{paths[0]} has test rows of its own: use split 'given', or take them out of the file"
        )
    regression = spec.options["target"] == "regression"
    return Source(table, test, sha256=_hashes(paths), regression=regression)


def _read_svmlight_files(paths: list[Path]) -> tuple[Table, Table | None]:
    tables = read_svmlight(paths, zero_based="auto")
    return tables[0], tables[1] if len(tables) > 1 else None


def _read_npz_files(paths: list[Path]) -> tuple[Table, Table | None]:
    table, test = read_npz(paths[0])
    if len(paths) == 1:
        return table, test
    if test is not None:
        raise UserError(f"{paths[0]} has test rows of its own: leave out 'test_path'")
    test, _ = read_npz(paths[1])
    if test.x.shape[1] != table.x.shape[1]:
        raise UserError(
            f"{paths[0]} has {table.x.shape[1]} columns but {paths[1]} has {test.x.shape[1]}"
        )
    return table, test


def _table(x: NDArray[Any], y: NDArray[Any]) -> Table:
    return Table(np.ascontiguousarray(x, np.float64), y.astype(np.float64))


def _hashes(paths: list[Path]) -> dict[str, str]:
    return {path.name: sha256_of(path) for path in paths}
