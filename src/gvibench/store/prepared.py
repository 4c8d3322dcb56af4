"""Read prepared data files.

A file has the groups `train` and `test`. Each group has `y` and either a dense array `x` or, if
most cells are zero, the three arrays of a CSR matrix (`data`, `indices`, `indptr`), and `offset` if
the data have one. The attributes of the root describe the source of the data: `feature_names`,
`target_kind`, `labels`, `encoding` (what was done to the columns of a file), and `mean` and `scale`
of standardised columns.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError
from gvibench.spec.run import DataSpec
from gvibench.store.zarrzip import StoredGroup, open_zip

__all__ = ["KIND", "Prepared", "read_prepared"]

KIND = "gvibench prepared data"
BLOCK_ROWS = 8192

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Prepared:
    """Training and test rows: dense C-contiguous float64 arrays.

    Targets are labels ±1, real numbers or counts.
    """

    spec: DataSpec
    train_x: Floats
    train_y: Floats
    test_x: Floats
    test_y: Floats
    attrs: Mapping[str, Any]
    content_hash: str = ""
    """Hash of the file, by which an interrupted job recognises its data."""
    train_offset: Floats | None = None
    """Numbers that are added to the linear predictors of the training rows."""
    test_offset: Floats | None = None

    def with_training_rows(self, picked: NDArray[np.intp]) -> "Prepared":
        """Return the data with some of the training rows."""
        offset = None if self.train_offset is None else self.train_offset[picked]
        x, y = self.train_x[picked], self.train_y[picked]
        return replace(self, train_x=x, train_y=y, train_offset=offset)

    def with_held_out_rows(self) -> "Prepared":
        """Return the data with the test rows as training rows, too."""
        return replace(
            self, train_x=self.test_x, train_y=self.test_y, train_offset=self.test_offset
        )

    def with_test_rows_of(self, other: "Prepared") -> "Prepared":
        """Return the data with the training rows of other data as test rows."""
        return replace(
            self, test_x=other.train_x, test_y=other.train_y, test_offset=other.train_offset
        )


def read_prepared(path: str | os.PathLike[str]) -> Prepared:
    """Read a file that `gvibench.datasets.build` has written."""
    with open_zip(path) as root:
        content_hash = root.content_hash()
        attrs: dict[str, Any] = dict(root.attrs)
        if attrs.get("kind") != KIND:
            raise UserError(
                f"{path} is not a file of prepared data: use a file that 'gvibench prepare' "
                "has written"
            )
        try:
            spec = DataSpec.from_dict(json.loads(attrs["spec"]))
            columns = int(attrs["d"])
            train = _read_rows(root, "train", int(attrs["n_train"]), columns)
            test = _read_rows(root, "test", int(attrs["n_test"]), columns)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise UserError(
                f"{path} is not a complete file of prepared data ({error}): delete the file and "
                "prepare the data again"
            ) from error
    return Prepared(spec, *train[:2], *test[:2], attrs, content_hash, train[2], test[2])


def _read_rows(
    root: StoredGroup, part: str, rows: int, columns: int
) -> tuple[Floats, Floats, Floats | None]:
    group = root.group(part)
    y = _contiguous(group.read("y"), np.float64)
    if "x" in group:
        x = _contiguous(group.read("x"), np.float64)
    else:
        x = _densify(
            _contiguous(group.read("data"), np.float64),
            group.read("indices"),
            _contiguous(group.read("indptr"), np.int64),
            columns,
        )
    if x.shape != (rows, columns) or y.shape != (rows,):
        raise ValueError(f"{part} has shapes {x.shape} and {y.shape}, not {rows} x {columns}")
    offset = _contiguous(group.read("offset"), np.float64) if "offset" in group else None
    if offset is not None and offset.shape != (rows,):
        raise ValueError(f"{part} has an offset of shape {offset.shape}, not {rows} rows")
    return x, y, offset


def _contiguous(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    return np.ascontiguousarray(array, dtype=dtype)


def _densify(
    data: Floats, indices: NDArray[Any], indptr: NDArray[np.int64], columns: int
) -> Floats:
    rows = len(indptr) - 1
    dense = np.zeros((rows, columns))
    # Work in blocks, because the row numbers of all cells would need as much memory as the cells.
    for start in range(0, rows, BLOCK_ROWS):
        bounds = indptr[start : start + BLOCK_ROWS + 1]
        cells = slice(bounds[0], bounds[-1])
        row_numbers = np.repeat(np.arange(start, start + len(bounds) - 1), np.diff(bounds))
        dense[row_numbers, indices[cells]] = data[cells]
    return dense
