"""Turn arrays, data frames and files into the features and targets of a model."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gvibench.datasets.encode import Encoding
from gvibench.datasets.read import read_npz, read_svmlight
from gvibench.datasets.table import read_table
from gvibench.errors import UserError, suggest
from gvibench.spec.catalogue import is_npz

__all__ = ["FeatureMap", "Inputs", "Values", "numbers", "read_inputs"]

Floats = NDArray[np.float64]
SVMLIGHT = {".libsvm", ".svm", ".svmlight"}
"""Endings of svmlight files, before an ending for compression."""


Values = dict[str, NDArray[Any]] | Floats
"""Features as given: named columns, or a matrix of numbers."""


class _Content(NamedTuple):
    """Content of a file, with the targets and the offset to use."""

    values: Any
    y: Any
    offset: Any
    names: list[str] = []


@dataclass(frozen=True)
class Inputs:
    """Rows as given: features, targets and offset."""

    values: Values
    y: NDArray[Any] | None
    offset: Floats | None
    names: Collection[str] = ()
    """Names of the columns of a matrix, if its file has them."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        if isinstance(self.values, dict):
            return len(next(iter(self.values.values()), ()))
        return len(self.values)


def read_inputs(
    X: Any, y: Any = None, offset: Any = None, *, as_text: Collection[str] = ()
) -> Inputs:
    """Read rows. `y` and `offset` are arrays, or names of columns of `X`.

    Columns in `as_text` of a file are text, even if their cells are numbers.
    """
    names: list[str] = []
    if isinstance(X, str | PathLike):
        X, y, offset, names = _read_file(Path(X).expanduser(), y, offset, as_text)
    columns = _columns_of(X)
    values: Values = _matrix(X) if columns is None else columns
    if columns is not None:
        y, offset = _take(columns, y, "y"), _take(columns, offset, "offset")
    rows = Inputs(values, None, None).rows
    return Inputs(
        values,
        None if y is None else _vector(y, "y", rows),
        None if offset is None else numbers(offset, "offset", rows),
        names,
    )


@dataclass(frozen=True)
class FeatureMap:
    """Map from rows as given to numeric features."""

    names: list[str]
    """Names of the features."""
    encoding: Encoding | None
    """How features follow from named columns; None for a matrix."""

    @classmethod
    def learn(
        cls,
        values: Values,
        *,
        categorical: Collection[str] = (),
        drop: Collection[str] = (),
        names: Collection[str] = (),
    ) -> "FeatureMap":
        """Return the map for training rows. `names` are those of the columns of a matrix."""
        if isinstance(values, dict):
            for name in drop:
                _take(values, name, "drop")
            encoding = Encoding.learn(values, categorical=categorical, where="X")
            return cls(encoding.feature_names, encoding)
        if drop or categorical:
            raise UserError("'drop' and 'categorical' name columns, so X should be a data frame")
        count = values.shape[1]
        chosen = list(names or [f"x{column}" for column in range(1, count + 1)])
        if len(chosen) != count:
            raise UserError(f"feature_names has {len(chosen)} names for {count} columns")
        return cls(chosen, None)

    def apply(self, values: Values) -> Floats:
        """Return the features of rows with the columns of the training rows."""
        if self.encoding is not None:
            if not isinstance(values, dict):
                raise UserError("X should be a data frame with the columns of the training data")
            return self.encoding.apply(values, where="X")
        if isinstance(values, dict):
            raise UserError("X should be a matrix like the training data, not a data frame")
        if values.shape[1] != len(self.names):
            raise UserError(
                f"X has {values.shape[1]} columns, but the training data have {len(self.names)}"
            )
        _require_finite(values, self.names)
        return values


def numbers(values: Any, name: str, rows: int) -> Floats:
    """Return values as finite numbers, one per row."""
    given = _vector(values, name, rows)
    if given.dtype.kind not in "biuf":
        raise UserError(f"{name} should be numeric, but has the type {given.dtype}")
    found = given.astype(np.float64)
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        raise UserError(f"{name} has no finite value in row {row}: fill it in or remove the row")
    return found


def _vector(values: Any, name: str, rows: int) -> NDArray[Any]:
    vector = np.asarray(values)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1 or len(vector) != rows:
        raise UserError(
            f"{name} should have one value for each of the {rows} rows of X, but has the shape "
            f"{vector.shape}"
        )
    return vector


def _read_file(path: Path, y: Any, offset: Any, as_text: Collection[str]) -> _Content:
    """Return the content of a file: named columns, or a matrix and its targets."""
    ending = Path(path.stem).suffix if path.suffix in {".gz", ".bz2"} else path.suffix
    is_matrix = is_npz(str(path)) or ending.lower() in SVMLIGHT
    if not is_matrix:
        columns = read_table(path, as_text=as_text)
        return _Content(columns, list(columns)[-1] if y is None else y, offset)
    if y is not None:
        raise UserError(f"{path} contains its targets: leave out y")
    if is_npz(str(path)):
        arrays, _ = read_npz(path)
        given = arrays.offset if offset is None else offset
        return _Content(arrays.x, arrays.y, given, list(arrays.feature_names))
    (table,) = read_svmlight([path], zero_based="auto")
    return _Content(table.x, table.y, offset)


def _columns_of(X: Any) -> dict[str, NDArray[Any]] | None:
    """Return named columns, or None if X is a matrix."""
    if isinstance(X, Mapping):
        return {str(name): np.asarray(values) for name, values in X.items()}
    if not hasattr(X, "columns"):
        return None
    names = [str(name) for name in X.columns]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise UserError(f"X has two columns '{name}': give them different names")
    return {str(name): np.asarray(X[name]) for name in X.columns}


def _take(columns: dict[str, NDArray[Any]], value: Any, role: str) -> Any:
    """Remove a column and return it if `value` is a name; otherwise return `value`."""
    if not isinstance(value, str):
        return value
    if value not in columns:
        raise UserError(f"{role}: X has no column '{value}'{suggest(value, columns)}")
    return columns.pop(value)


def _matrix(X: Any) -> Floats:
    x = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
    if x.ndim != 2 or x.dtype.kind not in "biuf":
        raise UserError(
            "X should be a numeric matrix with one row per observation, a data frame or a path, "
            f"but has the type {x.dtype} and the shape {x.shape}"
        )
    if x.size == 0:
        raise UserError(f"X is empty: it has {x.shape[0]} rows and {x.shape[1]} columns")
    return np.ascontiguousarray(x, dtype=np.float64)


def _require_finite(x: Floats, names: list[str]) -> None:
    # Sums are not finite if a value is not. They need no memory for a test of each value.
    with np.errstate(all="ignore"):
        sums = x.sum(axis=0)
    if not np.isfinite(sums).all():
        column = int(np.argmin(np.isfinite(sums)))
        row = int(np.argmin(np.isfinite(x[:, column])))
        raise UserError(
            f"X: column '{names[column]}' has no finite value in row {row}: fill it in or remove "
            "the row"
        )
