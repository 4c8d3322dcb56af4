"""Inspect the user's own data files: format, names of the columns, sizes and labels.

The first bytes of a file and the headers of arrays are read. Small text files are read completely.
Planning uses this module, so it does not import NumPy at the top.
"""

import functools
import math
import re
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from gvibench.errors import UserError
from gvibench.store.delimited import is_missing, is_number, layout_of, read_rows
from gvibench.store.files import UNPACKING_ERRORS, open_raw

__all__ = ["FORMATS", "MANY_LABELS", "Column", "OwnFile", "family_of", "inspect", "kind_of"]

FORMATS = (
    "give a CSV, Parquet or svmlight file, or save the arrays X and y with numpy.savez to a file "
    "'*.npz'"
)
MAX_COUNTED_BYTES = 20_000_000
"""Maximum size of a text file that is read completely, to keep planning fast."""
FIRST_BYTES = 100_000
BLOCK_ROWS = 10_000
MAX_LEVELS = 10_000
"""Number of different values above which those of a column are not listed."""
MANY_LABELS = 3
"""Number of different labels of an array or a svmlight file above which they are not counted."""
PACKED_RATIO = 4
"""Assumed ratio by which a compressed text file is smaller than its content."""
SVMLIGHT = re.compile(r"\s*(?P<label>[^\s:,;#]+)(\s+(qid|\d+):[^\s:,;#]+)*\s*(#.*)?")

Kind = Literal["svmlight", "npz", "parquet", "table"]


class Column(NamedTuple):
    """Column of a table."""

    name: str
    numeric: bool
    levels: frozenset[str] | None
    """Different values, missing ones apart, as text; None if they are unknown."""
    seen: int = 0
    """Number of different values in the rows that have been read."""


class OwnFile(NamedTuple):
    """Facts about a file. Numbers are None where they are unknown."""

    kind: Kind
    rows: int | None = None
    test_rows: int = 0
    """Test rows in the file itself, which only arrays have."""
    columns: int | None = None
    """Columns, with the target if it is one of them."""
    names: tuple[str, ...] = ()
    labels: int | None = None
    """Number of different targets of a svmlight or `.npz` file, at most three."""
    details: tuple[Column, ...] = ()
    """Columns of a table."""
    rows_estimate: int | None = None
    """Number of rows, extrapolated from the first ones if the file is large."""


def kind_of(path: Path) -> Kind:
    """Return the format of a file, from its name or its first bytes."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return "npz"
    if suffix in {".parquet", ".pq"}:
        return "parquet"
    with open_raw(path) as stream:
        start = stream.read(FIRST_BYTES)
    used = [line for line in map(_without_comment, _whole_lines(start)) if line]
    if not used and len(start) < FIRST_BYTES:
        raise ValueError("holds no rows")
    if used and b":" in b"".join(used[:100]) and all(map(_is_svmlight, used[:10])):
        return "svmlight"
    if not used or b"\0" in start:
        raise ValueError("is no table, svmlight file or .npz file")
    return "table"


def family_of(file: OwnFile) -> str:
    """Return the format of a file; CSV and Parquet are both tables."""
    return "table" if file.kind == "parquet" else file.kind


def inspect(dataset: str, path: str) -> OwnFile | None:
    """Return what is known about a file, or None if it does not exist."""
    file = Path(path).expanduser()
    try:
        if file.is_dir():
            raise UserError(f"data set '{dataset}': '{path}' is a folder: {FORMATS}")
        status = file.stat()
        return _inspect(str(file), status.st_mtime_ns, status.st_size)
    except FileNotFoundError:
        return None  # `gvibench plan` and Snakemake report it
    except UNPACKING_ERRORS as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"data set '{dataset}': cannot read '{path}': {reason}") from error
    except ValueError as error:
        raise UserError(f"data set '{dataset}': {path} {error}: {FORMATS}") from error


@functools.lru_cache(maxsize=1000)
def _inspect(path: str, modified: int, size: int) -> OwnFile:
    file = Path(path)
    match kind_of(file):
        case "npz":
            return _inspect_npz(path)
        case "parquet":
            return _inspect_parquet(path)
        case "svmlight":
            return _inspect_svmlight(file, size)
        case _:
            return _inspect_table(file, size)


def _whole_lines(start: bytes) -> list[bytes]:
    lines = start.splitlines()
    # The last one is cut off.
    return lines[:-1] if len(start) == FIRST_BYTES and len(lines) > 1 else lines


def _estimate_rows(path: Path, size: int) -> int:
    """Return the number of lines, extrapolated from the first ones."""
    with open_raw(path) as stream, path.open("rb") as raw:
        start, packed = stream.read(FIRST_BYTES), raw.read(2) in {b"\x1f\x8b", b"BZ"}
    lines = start.count(b"\n") or 1
    return math.ceil(size * (PACKED_RATIO if packed else 1) * lines / len(start))


# Tables


def _inspect_table(path: Path, size: int) -> OwnFile:
    layout = layout_of(path)
    if len(layout.names) == 1:
        raise ValueError(
            f"has one column, '{layout.names[0][:40]}', but needs features and a target"
        )
    is_small = size <= MAX_COUNTED_BYTES
    rows = read_rows(path, layout)
    if not is_small:  # the end of the file may not be a table at all
        rows = islice(rows, max(1, _whole_rows(path)))
    values: list[set[str]] = [set() for _ in layout.names]
    numeric = [True] * len(layout.names)
    count = 0
    while block := list(islice(rows, BLOCK_ROWS)):
        count += len(block)
        for place, cells in enumerate(zip(*block, strict=True)):
            new = {cell.strip() for cell in set(cells) if not is_missing(cell)}
            numeric[place] = numeric[place] and all(map(is_number, new))
            if len(values[place]) <= MAX_LEVELS:
                values[place] |= new
    details = tuple(
        Column(name, is_numeric, _listed(found) if is_small else None, len(found))
        for name, is_numeric, found in zip(layout.names, numeric, values, strict=True)
    )
    facts = OwnFile("table", columns=len(layout.names), names=layout.names, details=details)
    if is_small:
        return facts._replace(rows=count, rows_estimate=count)
    return facts._replace(rows_estimate=_estimate_rows(path, size))


def _listed(found: set[str]) -> frozenset[str] | None:
    return frozenset(found) if len(found) <= MAX_LEVELS else None


def _whole_rows(path: Path) -> int:
    """Return the number of rows after the first one that are certainly in the first bytes."""
    with open_raw(path) as stream:
        return min(stream.read(FIRST_BYTES).count(b"\n") // 2, BLOCK_ROWS)


def _inspect_parquet(path: str) -> OwnFile:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:  # the data job, and `gvibench plan`, say what to install
        return OwnFile("parquet")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            fields, rows = list(file.schema_arrow), file.metadata.num_rows
            read = rows * len(fields) <= MAX_COUNTED_BYTES // 4
            table = file.read() if read else None
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"cannot read {path} as Parquet: {error}") from error
    names = tuple(field.name for field in fields)
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise UserError(f"{path} has two columns '{twice}': give them different names")
    details = []
    for place, field in enumerate(fields):
        found: set[str] = set()
        if table is not None:
            texts = map(_plain, table.column(place).unique().to_pylist())
            found = {text for text in texts if text is not None}
        levels = _listed(found) if table is not None else None
        details.append(Column(field.name, "string" not in str(field.type), levels, len(found)))
    return OwnFile(
        "parquet",
        rows,
        columns=len(names),
        names=names,
        details=tuple(details),
        rows_estimate=rows,
    )


def _plain(value: Any) -> str | None:
    if value is None or value != value:
        return None
    if isinstance(value, bool | float) and float(value).is_integer():
        value = int(value)
    return str(value)


# Arrays and svmlight


def _inspect_svmlight(path: Path, size: int) -> OwnFile:
    """Return the number of rows, and of different labels unless the file is large."""
    if size > MAX_COUNTED_BYTES:
        with open_raw(path) as stream:
            cells = re.findall(rb"\s(\d+):", stream.read(FIRST_BYTES))
        columns = max(map(int, cells), default=None)
        return OwnFile("svmlight", columns=columns, rows_estimate=_estimate_rows(path, size))
    rows, labels = 0, set[float]()
    with open_raw(path) as stream:
        for line in map(_without_comment, stream):
            if line:
                rows += 1
                if len(labels) < MANY_LABELS:
                    labels.add(float(line.split(maxsplit=1)[0]))
    return OwnFile("svmlight", rows, labels=len(labels), rows_estimate=rows)


def _without_comment(line: bytes) -> bytes:
    return line.partition(b"#")[0].strip()


def _is_svmlight(line: bytes) -> bool:
    match = SVMLIGHT.fullmatch(line.decode("latin-1"))
    try:
        return match is not None and math.isfinite(float(match["label"]))
    except ValueError:
        return False


def _inspect_npz(path: str) -> OwnFile:
    if not zipfile.is_zipfile(path):
        raise ValueError("is not a complete zip archive of arrays")
    import numpy as np  # here, because most plans do not need NumPy

    try:
        with np.load(path, allow_pickle=False) as archive:
            stored = set(archive.files)
            headers = {name: _header(path, name) for name in ("X", "y", "X_test") if name in stored}
            shapes = {name: shape for name, (shape, _) in headers.items()}
            few = "y" in shapes and math.prod(shapes["y"]) < MAX_COUNTED_BYTES
            y = archive["y"] if few else np.zeros(0)
            names = tuple(map(str, archive["feature_names"])) if "feature_names" in stored else ()
    except Exception:  # NumPy raises many kinds; preparing the data gives the message
        return OwnFile("npz")
    for name, dimensions in (("X", 2), ("y", 1)):
        if name not in shapes:
            raise ValueError(f"has no array '{name}'")
        if len(shapes[name]) != dimensions:
            raise ValueError(f"has an array '{name}' of shape {shapes[name]}")
        if headers[name][1] not in "biuf":
            raise ValueError(f"has an array '{name}' that is not numeric")
    rows, columns = shapes["X"]
    if rows != shapes["y"][0]:
        raise ValueError(f"has {rows} rows in X but {shapes['y'][0]} targets in y")
    labels = min(len(np.unique(y)), MANY_LABELS) if few else None
    test_rows = shapes.get("X_test", (0,))[0]
    names = names or tuple(f"x{k}" for k in range(1, columns + 1))
    return OwnFile("npz", rows, test_rows, columns, names, labels, rows_estimate=rows + test_rows)


def _header(path: str, name: str) -> tuple[tuple[int, ...], str]:
    """Return the shape of an array and the kind of its numbers without reading them."""
    from numpy.lib import format as npy

    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, kind = read(stream)
    return tuple(shape), kind.kind
