"""Load two classes of MNIST from the original idx files or from LIBSVM's files."""

import hashlib
import struct
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.fetch import raw_file
from gvibench.datasets.read import Table, read_idx, read_svmlight
from gvibench.datasets.source import Source, hashes_of
from gvibench.errors import UserError
from gvibench.spec.catalogue import DatasetEntry, File
from gvibench.spec.run import DataSpec

__all__ = ["load"]

PIXELS = 28 * 28


def load(entry: DatasetEntry, spec: DataSpec) -> Source:
    """Load two classes of MNIST, with pixels divided by 255."""
    positive, negative = spec.options["positive"], spec.options["negative"]
    from_idx = spec.options["source"] == "idx"
    paths = [raw_file(file) for file in (entry.files if from_idx else entry.alternative_files)]
    images = read_mnist_idx(paths) if from_idx else read_mnist_libsvm(paths, entry.files)
    train, test = (_two_digits(pixels, digit, positive, negative) for pixels, digit in images)
    rest = "any other digit" if negative == "rest" else f"a {negative}"
    labels = {"+1": f"the digit is a {positive}", "-1": f"the digit is {rest}"}
    return Source(train, test, labels, hashes_of(paths))


Images = tuple[NDArray[np.uint8], NDArray[np.uint8]]


def read_mnist_idx(paths: list[Path]) -> list[Images]:
    """Return pixels and digits of the training rows and the test rows from the four idx files."""
    arrays = [read_idx(path) for path in paths]
    for images, digits, path in zip(arrays[::2], arrays[1::2], paths[::2], strict=True):
        if digits.ndim != 1 or images.shape != (len(digits), 28, 28) or len(digits) == 0:
            raise UserError(
                f"{path} has an array of shape {images.shape} with labels of shape "
                f"{digits.shape}, not images of 28 x 28 with one digit each: download both files "
                "again"
            )
    return [
        (images.reshape(-1, PIXELS), digits)
        for images, digits in zip(arrays[::2], arrays[1::2], strict=True)
    ]


def read_mnist_libsvm(paths: list[Path], idx_files: Sequence[File]) -> list[Images]:
    """Return pixels and digits from LIBSVM's two files, which omit trailing zero columns.

    Warn if they differ from the images in the original idx files.
    """
    images = []
    tables = read_svmlight(paths, zero_based=False)
    for table, path, image_file, label_file in zip(
        tables, paths, idx_files[::2], idx_files[1::2], strict=True
    ):
        pixels, digits = _pixels(table, path), table.y.astype(np.uint8)
        same_images = _idx_sha256(pixels.reshape(-1, 28, 28)) == image_file.content_sha256
        if not (same_images and _idx_sha256(digits) == label_file.content_sha256):
            warnings.warn(
                f"{path} does not have the same images in the same order as the original idx files",
                stacklevel=2,
            )
        images.append((pixels, digits))
    return images


def _pixels(table: Table, path: Path) -> NDArray[np.uint8]:
    rows, columns = table.x.shape
    values = table.x.data
    if columns > PIXELS or ((values < 0) | (values > 255) | (values % 1 != 0)).any():
        raise UserError(
            f"{path} is not LIBSVM's file of MNIST, which has at most {PIXELS} columns of whole "
            "numbers from 0 to 255: download the unscaled file"
        )
    pixels = np.zeros((rows, PIXELS), np.uint8)
    pixels[:, :columns] = table.x.astype(np.uint8).toarray()
    return pixels


def _idx_sha256(values: NDArray[np.uint8]) -> str:
    """Return the SHA-256 of an uncompressed idx file with these values."""
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
    # Four of five pixels are zero, and a dense float64 array would need half a gigabyte.
    x = scipy.sparse.csr_array(pixels).astype(np.float64)
    x.data /= 255.0
    return Table(x, is_positive.astype(np.float64))
