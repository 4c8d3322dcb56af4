"""What is known of a data set before it is prepared: its format, its sizes, its split.

A plan asks, so that a job does not fail hours later. Nothing is loaded: of the user's own files the
first bytes are read, the headers of arrays, and the lines of small text files are counted.
"""

import functools
import math
import re
import zipfile
from pathlib import Path
from typing import NamedTuple

from gvibench.datasets.catalogue import find, is_npz
from gvibench.errors import UserError
from gvibench.spec import DataSpec

__all__ = ["Shape", "refuse_unusable_data", "shape_of", "training_rows"]

MOST_COUNTED = 50_000_000
"""Bytes of a text file whose lines are counted: more would make planning slow."""
FIRST_BYTES = 100_000
FORMATS = "give a svmlight file, or save the arrays X and y with numpy.savez to a file '*.npz'"
SVMLIGHT = re.compile(r"\s*(?P<label>[^\s:,;#]+)(\s+(qid|\d+):[^\s:,;#]+)*\s*(#.*)?")
PACKED = (b"BZh", b"\x1f\x8b")


class Shape(NamedTuple):
    """Sizes of a data set as far as they are known."""

    rows: int | None = None
    """Rows, the set's own test rows apart if these are known."""
    test_rows: int | None = None
    """The set's own test rows."""
    columns: int | None = None


def refuse_unusable_data(spec: DataSpec) -> None:
    """Refuse a file that cannot be read and a split that the data set is too small for."""
    for path in (spec.path, spec.test_path):
        if path is not None and set(path) & set("{}"):
            raise UserError(
                f"data set '{spec.dataset}': '{path}' has braces, which Snakemake takes for "
                "wildcards: rename the file"
            )
    if spec.path and spec.test_path and is_npz(spec.path) != is_npz(spec.test_path):
        raise UserError(
            f"data set '{spec.dataset}': 'path' and 'test_path' must both be svmlight files or "
            "both be .npz files"
        )
    shape = shape_of(spec)
    if spec.split != "given" and spec.path is not None and shape.test_rows:
        raise UserError(
            f"{spec.path} has test rows of its own: use split 'given', or take them out of the file"
        )
    if spec.split == "given" and spec.path is not None and shape.rows and not shape.test_rows:
        raise UserError(
            f"{spec.path} has no arrays 'X_test' and 'y_test', and no 'test_path' is given: "
            "split 'given' needs test rows"
        )
    _split(spec, shape)


def shape_of(spec: DataSpec) -> Shape:
    """Return what is known of the sizes of a data set; `spec` is complete."""
    if spec.path is not None:
        tables = [_look(spec.dataset, path) for path in (spec.path, spec.test_path) if path]
        if len(tables) == 1:
            return tables[0]
        return tables[0]._replace(test_rows=tables[1].rows)
    entry = find(spec)
    columns = spec.options.get("d", entry.d)
    rows = spec.options.get("n", entry.n)
    if entry.has_test:
        known = [file.rows for file in entry.files]
        if len(known) == 2 and None not in known:
            return Shape(known[0], known[1], entry.d)
    return Shape(
        rows if isinstance(rows, int) else None, 0, columns if isinstance(columns, int) else None
    )


def training_rows(spec: DataSpec) -> int | None:
    """Return how many rows a run will train on, if that is known."""
    return _split(spec, shape_of(spec))


def _split(spec: DataSpec, shape: Shape) -> int | None:
    """Return the number of training rows; refuse sizes that the rows do not allow."""
    if spec.split == "given":
        _at_most(spec, "test", spec.test_size, shape.test_rows or None)
        own = shape.rows if shape.test_rows else None
        return _at_most(spec, "train", spec.train_size, own)
    if shape.rows is None:
        return None
    every = shape.rows + (shape.test_rows or 0)
    train = _at_most(spec, "train", spec.train_size, every)
    test = _at_most(spec, "test", spec.test_size, every)
    if spec.train_size is None:
        train = every - test if test is not None else None
    if spec.test_size is None:
        test = every - train if train is not None else None
    if train is None or test is None:
        return None
    if train < 1 or test < 1 or train + test > every:
        raise UserError(
            f"data set '{spec.dataset}' has {every} rows: train_size {_shown(spec.train_size)} and "
            f"test_size {_shown(spec.test_size)} leave {train} training and {test} test rows, "
            "which need at least 1 each and no more than all together"
        )
    return train


def _shown(size: float | None) -> str:
    return "(all others)" if size is None else f"{size:g}"


def _at_most(spec: DataSpec, part: str, size: float | None, available: int | None) -> int | None:
    """Return a size as a count; fractions round as in scikit-learn: train down, test up."""
    if size is None or available is None:
        return available
    if not isinstance(size, int):
        return math.floor(size * available) if part == "train" else math.ceil(size * available)
    if size > available:
        raise UserError(
            f"data set '{spec.dataset}': {part}_size is {size} but there are only {available} rows "
            "to choose from"
        )
    return size


def _look(dataset: str, path: str) -> Shape:
    """Return what a file shows at first sight; nothing is known of one that is not there."""
    file = Path(path).expanduser()
    if file.is_dir():
        raise UserError(f"data set '{dataset}': {path} is a folder: {FORMATS}")
    try:
        found = file.stat()
        return _shape_of_file(str(file), found.st_mtime_ns, found.st_size)
    except FileNotFoundError:
        return Shape()  # `gvibench plan` and Snakemake miss it themselves
    except OSError as error:
        raise UserError(
            f"data set '{dataset}': cannot read {path}: {error.strerror or error}"
        ) from error
    except ValueError as error:
        raise UserError(f"data set '{dataset}': {path} {error}: {FORMATS}") from error


@functools.lru_cache(maxsize=1000)
def _shape_of_file(path: str, modified: int, size: int) -> Shape:
    if is_npz(path):
        return _shape_of_npz(path)
    with Path(path).open("rb") as stream:
        start = stream.read(FIRST_BYTES)
    if start.startswith(PACKED):  # unpacking it takes as long as preparing it
        return Shape()
    lines = start.splitlines()
    if size > FIRST_BYTES:
        lines = lines[:-1]  # the last one is cut off
    used = [line for line in lines if line.split(b"#")[0].strip()]
    if not lines or (not used and size <= FIRST_BYTES):
        raise ValueError("holds no rows")
    for line in used[:10]:
        if not _is_svmlight(line.decode("latin-1")):
            raise ValueError("is neither in svmlight format nor an .npz file")
    if size > MOST_COUNTED:
        return Shape()
    with Path(path).open("rb") as stream:
        return Shape(sum(1 for line in stream if line.split(b"#")[0].strip()), 0)


def _is_svmlight(line: str) -> bool:
    match = SVMLIGHT.fullmatch(line)
    try:
        return match is not None and math.isfinite(float(match["label"]))
    except ValueError:
        return False


def _shape_of_npz(path: str) -> Shape:
    from numpy.lib import format as npy

    shapes: dict[str, tuple[int, ...]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                with archive.open(name) as stream:
                    major, _ = npy.read_magic(stream)
                    read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
                    shapes[name.removesuffix(".npy")] = read(stream)[0]
    except zipfile.BadZipFile:
        raise ValueError("is not a zip archive of arrays, or it is cut off") from None
    except Exception:  # a hostile header makes NumPy raise many kinds; preparing says which
        return Shape()
    for name in ("X", "y"):
        if name not in shapes:
            raise ValueError(f"has no array '{name}'")
    if len(shapes["X"]) != 2:
        raise ValueError(f"has an array X of {len(shapes['X'])} dimensions")
    test = shapes.get("X_test", (0,))
    return Shape(shapes["X"][0], test[0] if test else 0, shapes["X"][1])
