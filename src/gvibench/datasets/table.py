"""Read tables with named columns: delimited text files and Parquet files."""

from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError
from gvibench.store.delimited import Layout, is_missing, is_number, layout_of, read_rows

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Columns", "is_parquet", "read_table"]

Columns = dict[str, NDArray[Any]]
"""Columns by name: float64 numbers with NaN for missing values, or text with None for them."""

BLOCK_CELLS = 100_000
"""Maximum number of cells that are kept as text at the same time."""
MOSTLY = 0.5
"""Share of numbers above which text in a column is considered a mistake."""


def is_parquet(path: Path) -> bool:
    """Return whether the name of a file ends with `.parquet` or `.pq`."""
    return path.suffix.lower() in {".parquet", ".pq"}


def read_table(path: Path, *, as_text: Collection[str] = (), skip: Collection[str] = ()) -> Columns:
    """Read the columns of a delimited text file or a Parquet file.

    The delimiter of a text file is found from its first lines, and the file may be compressed with
    gzip or bzip2. A column is numeric if all its cells are numbers or missing.

    Parameters
    ----------
    path
        File to read.
    as_text
        Columns to return as text, even if their cells are numbers.
    skip
        Columns to leave out.
    """
    if is_parquet(path):
        return _read_parquet(path, as_text, skip)
    return _read_delimited(path, layout_of(path), set(as_text), set(skip))


def _read_delimited(path: Path, layout: Layout, as_text: set[str], skip: set[str]) -> Columns:
    columns = {name: _Column(name in as_text) for name in layout.names if name not in skip}
    places = [(k, columns[name]) for k, name in enumerate(layout.names) if name in columns]
    rows, count = read_rows(path, layout), 0
    while block := list(islice(rows, max(1, BLOCK_CELLS // len(layout.names)))):
        by_column = list(zip(*block, strict=True))
        for place, column in places:
            column.add(by_column[place], count)
        count += len(block)
    if count == 0:
        raise UserError(f"{path} has a header but no rows: add one line per row")
    mixed = {name for name, column in columns.items() if column.is_mixed}
    for name in columns:
        if name in mixed and columns[name].numbers > MOSTLY * columns[name].given:
            row, text = columns[name].first_text
            raise UserError(
                f"{path}: column '{name}' is numeric, but data row {row} has the text '{text}': "
                "correct the cell, or list the column under 'categorical' or 'drop'"
            )
    if mixed:  # blocks of numbers do not keep their text
        return _read_delimited(path, layout, as_text | mixed, skip)
    return {name: column.values() for name, column in columns.items()}


class _Column:
    """Blocks of one column, as numbers while all cells are numbers or missing."""

    def __init__(self, as_text: bool) -> None:
        self.given = self.numbers = 0
        self.first_text = (0, "")
        self._as_text = as_text
        self._blocks: list[NDArray[Any]] = []
        self._texts: dict[str, str | None] = {}
        """Stripped text of each cell, so that equal cells share their memory."""

    @property
    def is_mixed(self) -> bool:
        """Whether the column has both numbers and text."""
        return not self._as_text and 0 < self.numbers < self.given

    def add(self, cells: Sequence[str], start: int) -> None:
        """Add the cells of the rows that follow row `start`."""
        if self._as_text:
            self._blocks.append(self._text(cells))
            return
        numbers = _numbers(cells)
        if numbers is not None:
            self._blocks.append(numbers)
            found = int(np.count_nonzero(~np.isnan(numbers)))
            self.numbers, self.given = self.numbers + found, self.given + found
            return
        words = {cell for cell in set(cells) if not is_missing(cell) and not is_number(cell)}
        given = [cell for cell in cells if not is_missing(cell)]
        if not self.first_text[0]:
            row = next(k for k, cell in enumerate(cells, start + 1) if cell in words)
            self.first_text = (row, cells[row - start - 1].strip())
        self.given += len(given)
        self.numbers += sum(cell not in words for cell in given)
        self._blocks.append(self._text(cells))

    def values(self) -> NDArray[Any]:
        """Return the column. It has no block of another type, unless all its cells are missing."""
        if self.given and self.numbers == 0:
            return np.concatenate([block.astype(object) for block in self._blocks])
        return np.concatenate(self._blocks)

    def _text(self, cells: Sequence[str]) -> NDArray[Any]:
        known = self._texts
        for cell in set(cells) - known.keys():
            known[cell] = None if is_missing(cell) else cell.strip()
        texts = np.empty(len(cells), dtype=object)
        texts[:] = [known[cell] for cell in cells]
        return texts


def _numbers(cells: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the cells as numbers, NaN where they are missing, or None if one is text."""
    if "_" in "".join(cells):  # Python reads 1_000 as a number
        return None
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        pass
    words = [cell for cell in set(cells) if not is_number(cell)]
    if not all(map(is_missing, words)):
        return None
    missing = dict.fromkeys(words, "nan")
    return np.fromiter((float(missing.get(cell, cell)) for cell in cells), np.float64, len(cells))


def _read_parquet(path: Path, as_text: Collection[str], skip: Collection[str]) -> Columns:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UserError("reading Parquet files needs: pip install 'gvibench[data]'") from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = [field.name for field in file.schema_arrow]
            table = file.read(columns=[name for name in names if name not in skip])
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist: correct 'path'") from error
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path} as Parquet: {error}") from error
    for position, name in enumerate(names):
        if name in names[:position]:
            raise UserError(f"{path} has two columns '{name}': give them different names")
    if table.num_rows == 0:
        raise UserError(f"{path} has no rows: add some")
    return {
        name: _from_arrow(table.column(name), name in as_text, f"{path}: column '{name}'")
        for name in table.column_names
    }


def _from_arrow(column: "pyarrow.ChunkedArray", as_text: bool, where: str) -> NDArray[Any]:
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    is_numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if types.is_null(kind):
        return np.full(len(column), np.nan)
    if not (is_numeric or types.is_boolean(kind) or _is_text(kind)):
        raise UserError(f"{where} is of type {kind}, not numbers or text: convert it, or drop it")
    if not as_text and not _is_text(kind):
        whole = column.cast(kind)
        numbers = (whole.cast("int8") if types.is_boolean(kind) else whole).cast("float64")
        return np.asarray(numbers.to_numpy(), dtype=np.float64)
    values = column.to_pylist()
    texts = np.empty(len(values), dtype=object)
    texts[:] = [None if _is_gap(value) else _text(value) for value in values]
    return texts


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_gap(value: Any) -> bool:
    is_text = isinstance(value, str)
    return value is None or value != value or (is_text and is_missing(value))


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()
