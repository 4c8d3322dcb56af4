"""Inspect data sets without loading them: format, sizes and split.

A plan does this so that jobs do not fail hours later. It reads the first bytes of the user's own
files and the headers of arrays, and counts the lines of small text files.
"""

import functools
import math
import re
import zipfile
from pathlib import Path
from typing import NamedTuple

from gvibench.errors import UserError
from gvibench.spec.catalogue import find, is_npz
from gvibench.spec.run import DataSpec
from gvibench.store.files import UNPACKING_ERRORS, open_raw

__all__ = ["Shape", "shape_of", "training_rows", "validate_data"]

MAX_COUNTED_BYTES = 50_000_000
"""Maximum size of a text file whose lines are counted, to keep planning fast."""
FIRST_BYTES = 100_000
FORMATS = "give a svmlight file, or save the arrays X and y with numpy.savez to a file '*.npz'"
SVMLIGHT = re.compile(r"\s*(?P<label>[^\s:,;#]+)(\s+(qid|\d+):[^\s:,;#]+)*\s*(#.*)?")
MANY = 3
"""Number of different labels above which they are not counted."""


class Shape(NamedTuple):
    """Sizes of a data set, None where they are unknown."""

    rows: int | None = None
    """Rows, without the data set's own test rows if these are known."""
    test_rows: int | None = None
    """Test rows of the data set's own test file."""
    columns: int | None = None
    labels: int | None = None
    """Number of different targets in the user's own file, at most three."""


def validate_data(spec: DataSpec) -> None:
    """Raise UserError if a file cannot be read or a data set is too small for its split."""
    for path in (spec.path, spec.test_path):
        if path is not None and set(path) & set("{}"):
            raise UserError(
                f"data set '{spec.dataset}': '{path}' contains braces, which Snakemake reads as "
                "wildcards: rename the file"
            )
    if spec.path and spec.test_path and is_npz(spec.path) != is_npz(spec.test_path):
        raise UserError(
            f"data set '{spec.dataset}': 'path' and 'test_path' must both be svmlight files or "
            "both be .npz files"
        )
    shape = shape_of(spec)
    if spec.options.get("target") == "binary" and shape.labels not in {None, 2}:
        labels = "one label" if shape.labels == 1 else "more than two different labels"
        raise UserError(
            f"data set '{spec.dataset}': {spec.path} has {labels} instead of two; for real "
            "targets use model 'linear'"
        )
    if spec.split != "given" and spec.path is not None and shape.test_rows:
        raise UserError(
            f"{spec.path} contains test rows: use split 'given', or remove them from the file"
        )
    if spec.split == "given" and spec.path is not None and shape.rows and not shape.test_rows:
        raise UserError(
            f"{spec.path} has no arrays 'X_test' and 'y_test', and no 'test_path' is given: "
            "split 'given' needs test rows"
        )
    _split(spec, shape)


def shape_of(spec: DataSpec) -> Shape:
    """Return the known sizes of the data set of a complete spec."""
    if spec.path is not None:
        given = (path for path in (spec.path, spec.test_path) if path is not None)
        tables = [_inspect(spec.dataset, path) for path in given]
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
    """Return the number of training rows of a run, or None if it is unknown."""
    return _split(spec, shape_of(spec))


def _split(spec: DataSpec, shape: Shape) -> int | None:
    """Return the number of training rows. Raise UserError if there are too few rows."""
    if spec.split == "given":
        _at_most(spec, "test", spec.test_size, shape.test_rows or None)
        own = shape.rows if shape.test_rows else None
        return _at_most(spec, "train", spec.train_size, own)
    if shape.rows is None:
        return None
    total = shape.rows + (shape.test_rows or 0)
    train = _at_most(spec, "train", spec.train_size, total)
    test = _at_most(spec, "test", spec.test_size, total)
    if spec.train_size is None:
        train = total - test if test is not None else None
    if spec.test_size is None:
        test = total - train if train is not None else None
    if train is None or test is None:
        return None
    # Each of two classes needs a training row and, in a stratified split, a test row.
    classes = 1 if spec.options.get("target") == "regression" else 2
    least_test = classes if spec.split == "random" else 1
    if train < classes or test < least_test or train + test > total:
        raise UserError(
            f"data set '{spec.dataset}' has {total} rows, of which train_size "
            f"{_shown(spec.train_size)} and test_size {_shown(spec.test_size)} take {train} for "
            f"training and {test} for testing: at least {classes} and {least_test} are needed, and "
            f"at most {total} in all"
        )
    return train


def _shown(size: float | None) -> str:
    return "(all others)" if size is None else f"{size:g}"


def _at_most(spec: DataSpec, part: str, size: float | None, available: int | None) -> int | None:
    """Return a size as a count. Round fractions like scikit-learn: train down, test up."""
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


def _inspect(dataset: str, path: str) -> Shape:
    """Return the sizes of a file. Return an empty shape for a missing file."""
    file = Path(path).expanduser()
    try:
        if file.is_dir():
            raise UserError(f"data set '{dataset}': '{path}' is a folder: {FORMATS}")
        status = file.stat()
        return _shape_of_file(str(file), status.st_mtime_ns, status.st_size)
    except FileNotFoundError:
        return Shape()  # `gvibench plan` and Snakemake report it
    except UNPACKING_ERRORS as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"data set '{dataset}': cannot read '{path}': {reason}") from error
    except ValueError as error:
        raise UserError(f"data set '{dataset}': {path} {error}: {FORMATS}") from error


@functools.lru_cache(maxsize=1000)
def _shape_of_file(path: str, modified: int, size: int) -> Shape:
    if is_npz(path):
        return _shape_of_npz(path)
    with open_raw(Path(path)) as stream:
        start = stream.read(FIRST_BYTES)
    lines = start.splitlines()
    if len(start) == FIRST_BYTES:
        lines = lines[:-1]  # the last one is cut off
    used = [line for line in map(_without_comment, lines) if line]
    if not used and len(start) < FIRST_BYTES:
        raise ValueError("holds no rows")
    if not all(map(_is_svmlight, used[:10])):
        raise ValueError("is neither in svmlight format nor an .npz file")
    return Shape() if size > MAX_COUNTED_BYTES else _counted(path)


def _counted(path: str) -> Shape:
    """Return the number of rows and of different labels of a svmlight file."""
    rows, labels = 0, set[float]()
    with open_raw(Path(path)) as stream:
        for line in map(_without_comment, stream):
            if line:
                rows += 1
                if len(labels) < MANY:
                    labels.add(float(line.split(maxsplit=1)[0]))
    return Shape(rows, 0, labels=len(labels))


def _without_comment(line: bytes) -> bytes:
    return line.partition(b"#")[0].strip()


def _is_svmlight(line: bytes) -> bool:
    match = SVMLIGHT.fullmatch(line.decode("latin-1"))
    try:
        return match is not None and math.isfinite(float(match["label"]))
    except ValueError:
        return False


def _shape_of_npz(path: str) -> Shape:
    if not zipfile.is_zipfile(path):
        raise ValueError("is not a complete zip archive of arrays")
    import numpy as np  # here, because most plans do not need NumPy

    try:
        with np.load(path, allow_pickle=False) as archive:
            names = set(archive.files)
        headers = {name: _header(path, name) for name in ("X", "y", "X_test") if name in names}
        shapes = {name: shape for name, (shape, _) in headers.items()}
        few = "y" in shapes and math.prod(shapes["y"]) < MAX_COUNTED_BYTES
        y = np.load(path, allow_pickle=False)["y"] if few else np.zeros(0)
    except Exception:  # NumPy raises many kinds; preparing the data gives the message
        return Shape()
    for name, dimensions in (("X", 2), ("y", 1)):
        if name not in shapes:
            raise ValueError(f"has no array '{name}'")
        if len(shapes[name]) != dimensions:
            raise ValueError(f"has an array '{name}' of shape {shapes[name]}")
        if headers[name][1] not in "biuf":
            raise ValueError(f"has an array '{name}' that is not numeric")
    if shapes["X"][0] != shapes["y"][0]:
        raise ValueError(f"has {shapes['X'][0]} rows in X but {shapes['y'][0]} targets in y")
    labels = min(len(np.unique(y)), MANY) if few else None
    return Shape(shapes["X"][0], shapes.get("X_test", (0,))[0], shapes["X"][1], labels)


def _header(path: str, name: str) -> tuple[tuple[int, ...], str]:
    """Return the shape of an array and the kind of its numbers without reading them."""
    from numpy.lib import format as npy

    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, kind = read(stream)
    return tuple(shape), kind.kind
