"""Read delimited text files (CSV, TSV, ...) as rows of text.

The delimiter and the header are found from the first lines. Planning uses this module, so it does
not import NumPy.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from gvibench.errors import UserError, suggest
from gvibench.store.files import UNPACKING_ERRORS, open_raw

__all__ = ["MISSING", "Layout", "check_names", "is_missing", "is_number", "layout_of", "read_rows"]

MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"})
"""Cells that mean a missing value."""
DELIMITERS = (",", ";", "\t", "|")
SPACES = " "
"""Delimiter of files whose columns are separated by any number of spaces."""
SAMPLE_CHARACTERS = 65536
SAMPLE_ROWS = 50


@dataclass(frozen=True)
class Layout:
    """Form of a delimited file."""

    delimiter: str
    names: tuple[str, ...]
    """Names of the columns: from the header, or generated."""
    has_header: bool


def is_missing(cell: str) -> bool:
    """Return whether a cell means a missing value."""
    return cell.strip() in MISSING


def is_number(cell: str) -> bool:
    """Return whether a cell is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000 as a number


def layout_of(path: Path) -> Layout:
    """Return the delimiter and the column names of a file."""
    with _explained(path), closing(_open_text(path)) as stream:
        sample = stream.read(SAMPLE_CHARACTERS)
    lines = sample.splitlines(keepends=True)
    if len(sample) == SAMPLE_CHARACTERS and len(lines) > 1:
        lines = lines[:-1]  # the last one is cut off
    lines = lines[:SAMPLE_ROWS]
    delimiter = _sniff(lines)
    with _explained(path):
        first = next(_cells(lines, delimiter), [])
    cells = [cell.strip() for cell in first]
    if not any(cells):
        raise UserError(f"{path} has no rows: add a header and one line per row")
    numbers = [is_number(cell) for cell in cells if not is_missing(cell)]
    if numbers and all(numbers):
        return Layout(delimiter, tuple(f"x{k}" for k in range(1, len(cells) + 1)), False)
    names = tuple(cell or f"column{k}" for k, cell in enumerate(cells, 1))
    for position, name in enumerate(names):
        if name in names[:position]:
            raise UserError(f"{path} has two columns '{name}': give them different names")
    return Layout(delimiter, names, True)


def read_rows(path: Path, layout: Layout) -> Iterator[list[str]]:
    """Yield the cells of each row after the header. Skip blank lines."""
    columns = len(layout.names)
    with _explained(path), closing(_open_text(path)) as stream:
        rows = _cells(stream, layout.delimiter)
        if layout.has_header:
            next(rows)
        for number, cells in enumerate(rows, 1):
            if len(cells) != columns:
                raise UserError(
                    f"{path}: data row {number} has {len(cells)} cells instead of {columns}: "
                    "correct the row, and quote cells that contain the delimiter "
                    f"{layout.delimiter!r}"
                )
            yield cells


def check_names(names: Iterable[str], known: Iterable[str], key: str, where: str) -> None:
    """Raise UserError if a name is not among the known columns."""
    known = list(known)
    for name in names:
        if name not in known:
            shown = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
            raise UserError(
                f"{where} has no column '{name}', which '{key}' names{suggest(name, known)}; its "
                f"columns are {shown}"
            )


def _open_text(path: Path) -> IO[str]:
    # The encoding removes a byte-order mark; the csv module handles all kinds of line ends.
    return cast(IO[str], io.TextIOWrapper(open_raw(path), encoding="utf-8-sig", newline=""))


def _cells(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    if delimiter == SPACES:
        lines = (" ".join(line.split()) for line in lines)
    return (row for row in csv.reader(lines, delimiter=delimiter) if row)


def _sniff(lines: list[str]) -> str:
    """Return the delimiter that divides the first lines most evenly."""
    best, delimiter = (0.0, 1), SPACES if all(len(line.split()) > 1 for line in lines[:1]) else ","
    for candidate in DELIMITERS:
        try:
            lengths = [len(row) for row in _cells(lines, candidate)]
        except csv.Error:
            continue
        if lengths and lengths[0] > 1:
            agreeing = sum(length == lengths[0] for length in lengths) / len(lengths)
            if (agreeing, lengths[0]) > best:
                best, delimiter = (agreeing, lengths[0]), candidate
    return delimiter


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn the errors of reading a file into a UserError."""
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist: correct 'path'") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: save it as UTF-8") from error
    except csv.Error as error:
        raise UserError(f"cannot read {path} as a table: {error}") from error
    except UNPACKING_ERRORS as error:
        raise UserError(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
