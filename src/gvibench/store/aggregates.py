"""Locate, open and check the aggregate of a study.

The aggregate is one zip file, because that is what Snakemake tracks safely: it notices a missing or
changed file, but nothing that happens inside a folder. `gvibench.store.aggregate_writer` describes
its content.
"""

import contextlib
import math
import tempfile
import uuid
import weakref
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gvibench.errors import UserError, one_sentence
from gvibench.spec.limits import IN_MEMORY_BYTES
from gvibench.store.remote import is_remote
from gvibench.store.zarrzip import open_zip

if TYPE_CHECKING:
    import xarray as xr

    from gvibench.store.zip_store import ZipRangeStore

__all__ = [
    "AGGREGATE",
    "KIND",
    "MEMBERS",
    "check_aggregate",
    "fits_in_memory",
    "locate_aggregate",
    "open_aggregate",
    "open_study",
]

AGGREGATE = "aggregate.zarr.zip"
KIND = "gvibench aggregate"
MEMBERS = "members"
"""Attribute with the names of all members except the one that contains it."""


@contextlib.contextmanager
def open_aggregate(
    path: str | Path, *, order: Mapping[str, Sequence[str]] | None = None
) -> Iterator["xr.Dataset"]:
    """Open the aggregate of a study.

    Variables are read when they are used. The curves of a study that does not fit in memory are
    Dask arrays with one chunk per shard. If the body of the `with` statement raises an error, the
    file is checked, and a damaged file is reported instead.

    Parameters
    ----------
    path
        Aggregate, on a disk or in object storage.
    order
        Data sets and solvers in the order in which they are shown, by `dataset` and `solver`. By
        default, the order is that of the aggregate.
    """
    dataset, store = _open(path, order)
    with contextlib.closing(store):
        try:
            shapes = [variable.shape for variable in dataset.variables.values()]
            yield dataset if _is_small(shapes) else _chunked(dataset)
        except UserError:
            raise
        except Exception:
            check_aggregate(path)
            raise


def open_study(path: str | Path) -> "xr.Dataset":
    """Open a study, given its folder, its aggregate or an archive. Curves are Dask arrays.

    Files stay open, and an archive stays unpacked, as long as any array uses them.
    """
    with contextlib.ExitStack() as stack:
        located = stack.enter_context(locate_aggregate(path))
        dataset, store = _open(located)
        weakref.finalize(store, stack.pop_all().close)
    dataset = _chunked(dataset)
    dataset.set_close(store.close)
    return dataset


def _open(
    path: str | Path, order: Mapping[str, Sequence[str]] | None = None
) -> "tuple[xr.Dataset, ZipRangeStore]":
    """Return an aggregate, and the store from which its variables are read when they are used."""
    import xarray as xr

    from gvibench.store.zip_store import ZipRangeStore

    try:
        store = ZipRangeStore(str(path))
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    if "zarr.json" not in store.names():
        raise _not_an_aggregate(path)
    try:
        dataset = xr.open_zarr(store, consolidated=False, chunks=None)
    except Exception as error:  # Zarr and xarray raise many types of errors
        raise UserError(
            f"{path} cannot be read as an aggregate ({one_sentence(error)}): delete the file and "
            "run snakemake again"
        ) from error
    _check_kind(path, dataset, store.names())
    dataset.attrs["order"] = dict(order or {})
    return _with_python_text(dataset), store


def _check_kind(path: str | Path, dataset: "xr.Dataset", names: set[str]) -> None:
    """Raise UserError if a file is not an aggregate or if a member is missing.

    Zarr would not notice a missing shard and return missing values instead.
    """
    if dataset.attrs.get("kind") != KIND:
        raise _not_an_aggregate(path)
    if MEMBERS not in dataset.attrs:
        raise UserError(
            f"{path} has the format of an earlier version: delete the file and run snakemake again"
        )
    if missing := set(dataset.attrs.pop(MEMBERS)) - names:
        raise UserError(
            f"{path} is damaged ('{min(missing)}' is missing): delete the file and run snakemake "
            "again"
        )


def _not_an_aggregate(path: str | Path) -> UserError:
    return UserError(
        f"{path} is not a gvibench aggregate: use a study's folder, its {AGGREGATE} or its "
        "exported archive"
    )


def _with_python_text(dataset: "xr.Dataset") -> "xr.Dataset":
    """Return the dataset with labels as Python strings, because not all of NumPy takes others."""
    for name, variable in dataset.variables.items():
        if variable.dtype.kind == "T":
            known: dict[str, str] = {}  # equal texts share their memory
            words = [known.setdefault(word, word) for word in variable.values.tolist()]
            text = np.array(words, dtype=object)
            dataset = dataset.assign_coords({name: (variable.dims, text, variable.attrs)})
    return dataset


def _chunked(dataset: "xr.Dataset") -> "xr.Dataset":
    """Return the dataset with a Dask array for each curve and path, one chunk per shard."""
    chunked = {}
    for name, variable in dataset.variables.items():
        if len(variable.dims) > 1 and "run" in variable.dims:
            encoding = variable.encoding
            runs = (encoding.get("shards") or encoding["chunks"])[0]
            chunks = {dim: runs if dim == "run" else -1 for dim in variable.dims}
            # With a name, Dask need not derive one from the content of the array.
            chunked[name] = variable.chunk(chunks, name=f"{name}-{uuid.uuid4().hex}")
    return dataset.assign(chunked).set_coords(set(chunked) & set(dataset.coords))


def fits_in_memory(path: str | Path) -> bool:
    """Return whether the curves of a study are analysed as NumPy arrays. This loads no library."""
    with open_zip(path) as root:
        return _is_small(root.shape(name) for name in root.names())


def _is_small(shapes: Iterable[tuple[int, ...]]) -> bool:
    """Return whether arrays with these shapes fit in memory. Curves have two dimensions."""
    return 8 * sum(math.prod(shape) for shape in shapes if len(shape) == 2) <= IN_MEMORY_BYTES


def check_aggregate(path: str | Path) -> None:
    """Read all of an aggregate. Raise UserError if it is damaged."""
    with open_zip(path) as root:
        root.check_members()


@contextlib.contextmanager
def locate_aggregate(path: str | Path) -> Iterator[str | Path]:
    """Yield the path of a study's aggregate, given its folder, the aggregate or an archive.

    The folders `figures` and `tables` of the study are next to the aggregate. An archive is
    unpacked to a temporary folder for the duration of the context.
    """
    if is_remote(path):
        yield path
        return
    path = Path(path)
    if path.is_dir():
        yield path / AGGREGATE
        return
    if not _is_archive(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="gvibench-") as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                wanted = [name for name in archive.namelist() if not name.startswith("runs/")]
                archive.extractall(folder, wanted)
        except (OSError, zipfile.BadZipFile, zlib.error) as error:
            raise UserError(f"{path} is corrupt ({error}): download or export it again") from error
        yield Path(folder) / AGGREGATE


def _is_archive(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return AGGREGATE in archive.namelist()
    except (OSError, zipfile.BadZipFile):  # open_aggregate raises a better message
        return False
