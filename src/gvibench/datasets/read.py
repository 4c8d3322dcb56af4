"""Read raw files: svmlight text, MNIST's idx format and NumPy's `.npz`.

All readers raise UserError for an invalid file.
"""

import contextlib
import math
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError
from gvibench.store.files import UNPACKING_ERRORS, open_raw

__all__ = ["MAX_VALUE", "Arrays", "Table", "read_idx", "read_npz", "read_svmlight"]

MAX_VALUE = 1e50
"""Maximum absolute value of a cell. Fourth powers of larger values overflow."""

NAMES = "feature_names"
"""Array with the names of the columns in an `.npz` file."""
_IDX_UNSIGNED_BYTE = 0x08
_IDX_MAX_DIMENSIONS = 3


@dataclass(frozen=True)
class Table:
    """Rows of a raw file."""

    x: Any
    """Float64 NumPy array or SciPy CSR matrix. SciPy has no type annotations, hence Any."""
    y: NDArray[Any]
    """Raw targets: numbers, or labels as text."""
    offset: NDArray[np.float64] | None = None
    """Numbers that are added to the linear predictor, if there are any."""


@dataclass(frozen=True)
class Arrays:
    """Arrays of an `.npz` file."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    offset: NDArray[np.float64] | None
    feature_names: tuple[str, ...]


def read_svmlight(
    paths: Sequence[Path], zero_based: bool | str, origins: Sequence[str] | None = None
) -> list[Table]:
    """Read svmlight files with the same columns.

    Parameters
    ----------
    paths
        Files, uncompressed or compressed with gzip or bzip2.
    zero_based
        Whether the first column has number 0. With `"auto"` it has if any file has a column 0.
    origins
        Names of the files for messages (default: their paths).
    """
    try:
        from sklearn.datasets import load_svmlight_files
    except ImportError as error:
        raise UserError("reading svmlight files needs: pip install 'gvibench[data]'") from error

    names = origins or [str(path) for path in paths]
    with contextlib.ExitStack() as stack:
        try:
            streams = [stack.enter_context(open_raw(path)) for path in paths]
            loaded = load_svmlight_files(streams, dtype=np.float64, zero_based=zero_based)
        except FileNotFoundError as error:
            raise UserError(f"{error.filename} does not exist") from error
        except (*UNPACKING_ERRORS, ValueError, OverflowError) as error:
            raise UserError(f"cannot read {' and '.join(names)} as svmlight: {error}") from error
    tables = [Table(x, y) for x, y in zip(loaded[::2], loaded[1::2], strict=True)]
    for table, name in zip(tables, names, strict=True):
        _validate(table, name)
    if not any(table.x.nnz for table in tables):  # scikit-learn returns one column of zeros
        raise UserError(f"{' and '.join(names)} is empty: it has labels but no values")
    return tables


def read_npz(path: Path) -> tuple[Arrays, Arrays | None]:
    """Read the arrays `X` and `y`, and `X_test` and `y_test` if the file has them.

    The arrays `offset`, `offset_test` and `feature_names` are optional.
    """
    wanted = ("X", "y", "offset", "X_test", "y_test", "offset_test", NAMES)
    try:
        with path.open("rb") as stream:
            if not zipfile.is_zipfile(stream):
                raise ValueError("it is not a zip archive of arrays, or it is truncated")
            stream.seek(0)
            # Plain arrays are enough. Unpickling objects could execute arbitrary code.
            archive = np.load(stream, allow_pickle=False)
            stored = [name for name in wanted if name in archive.files]
            arrays = {name: np.asarray(archive[name]) for name in stored if name != NAMES}
            if NAMES in stored:
                arrays[NAMES] = _read_names(archive, path)
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist") from error
    except UserError:
        raise
    except Exception as error:  # NumPy and zipfile raise many types of errors for invalid headers
        reason = str(error) or type(error).__name__
        raise UserError(f"cannot read {path} as .npz: {reason}") from error
    train = _arrays(arrays, "", path)
    if not {"X_test", "y_test"} & set(arrays):
        return train, None
    test = _arrays(arrays, "_test", path)
    if test.x.shape[1] != train.x.shape[1]:
        raise UserError(
            f"{path}: X has {train.x.shape[1]} columns but X_test has {test.x.shape[1]}"
        )
    return train, test


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an array of unsigned bytes in idx format, which MNIST's original files use."""
    try:
        with open_raw(path) as stream:
            content = stream.read()
    except UNPACKING_ERRORS as error:
        raise UserError(
            f"{path} is truncated or damaged ({error}): download the file again"
        ) from error
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _IDX_UNSIGNED_BYTE:
        raise UserError(f"{path} is not an idx file of unsigned bytes: download the file again")
    dimensions = content[3]
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise UserError(f"{path} ends inside its header: download the file again")
    if dimensions > _IDX_MAX_DIMENSIONS:
        raise UserError(
            f"{path} has {dimensions} dimensions, but images have {_IDX_MAX_DIMENSIONS}: download "
            "the file again"
        )
    shape = struct.unpack_from(f">{dimensions}I", content, 4)
    values = np.frombuffer(content, np.uint8, offset=header)
    if values.size != math.prod(shape):
        raise UserError(
            f"{path} has {values.size} bytes of data, which does not match the shape {shape} in "
            "its header: download the file again"
        )
    return values.reshape(shape)


def _arrays(arrays: dict[str, NDArray[Any]], part: str, path: Path) -> Arrays:
    x, y, offset = f"X{part}", f"y{part}", f"offset{part}"
    for name, dimensions in ((x, 2), (y, 1), (offset, 1)):
        if name not in arrays:
            if name == offset:
                continue
            raise UserError(f"{path} has no array '{name}': save it with {x}=..., {y}=...")
        if arrays[name].ndim != dimensions or arrays[name].dtype.kind not in "biuf":
            raise UserError(
                f"{path}: '{name}' must be numeric with {dimensions} dimensions, "
                f"not {arrays[name].dtype} of shape {arrays[name].shape}"
            )
        if len(arrays[name]) != len(arrays[x]):
            noun = "labels" if name == y else "values"
            raise UserError(
                f"{path}: '{x}' has {len(arrays[x])} rows but '{name}' has {len(arrays[name])} "
                f"{noun}"
            )
    rows, columns = arrays[x].shape
    if rows == 0 or columns == 0:
        raise UserError(f"{path} is empty: it has {rows} rows and {columns} columns")
    return Arrays(
        arrays[x].astype(np.float64),
        arrays[y].astype(np.float64),
        arrays[offset].astype(np.float64) if offset in arrays else None,
        _names(arrays.get(NAMES), columns, path),
    )


def _read_names(archive: Any, path: Path) -> NDArray[Any]:
    try:
        return np.asarray(archive[NAMES])
    except ValueError as error:  # e.g. the columns of a DataFrame are stored as a pickle
        raise UserError(
            f"{path}: '{NAMES}' is not an array of text: save it with {NAMES}=np.array(names, "
            "dtype=str)"
        ) from error


def _names(given: NDArray[Any] | None, columns: int, path: Path) -> tuple[str, ...]:
    if given is None:
        return tuple(f"x{k}" for k in range(1, columns + 1))
    names = tuple(str(name) for name in given.ravel())
    if len(names) != columns or len(set(names)) < columns:
        raise UserError(
            f"{path}: 'feature_names' must have {columns} different names, one per column of X"
        )
    return names


def _validate(table: Table, name: str) -> None:
    rows, columns = table.x.shape
    if rows == 0 or columns == 0:
        raise UserError(f"{name} is empty: it has {rows} rows and {columns} columns")
    values = table.x if isinstance(table.x, np.ndarray) else table.x.data
    if not np.isfinite(values).all():
        raise UserError(f"{name} has values that are not finite: remove or fill them first")
    if np.abs(values).max(initial=0.0) > MAX_VALUE:
        raise UserError(
            f"{name} has values above {MAX_VALUE:g}, whose products overflow: scale the columns "
            "first"
        )
    if not np.isfinite(table.y).all():
        raise UserError(f"{name} has labels that are not finite: remove those rows first")
