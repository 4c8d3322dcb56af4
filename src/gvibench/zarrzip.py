"""Zarr v3 groups in one zip file: the only code that knows how we put them there.

A file is built in memory and written in one go, every member once, in a fixed order and with a
fixed date, so that equal content gives equal bytes. Nothing inside the zip is compressed again:
the chunks already are.
"""

import contextlib
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import ArrayLike
from zarr.core.buffer import Buffer
from zarr.storage import MemoryStore, ZipStore

from gvibench.errors import UserError
from gvibench.files import atomic_path

__all__ = ["open_zip", "put", "write_zip"]

ONE_CHUNK_BYTES = 64 * 2**20
"""Arrays up to this size are one chunk."""
ROW_CHUNK_BYTES = 16 * 2**20
"""Larger arrays are cut along their first axis into chunks of about this size."""

_ROOT = "zarr.json"
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can hold


def write_zip(path: str | os.PathLike[str], build: Callable[[zarr.Group], None]) -> None:
    """Write the group that `build` fills as one zip file, whole or not at all.

    Parameters
    ----------
    path
        The file to write; an old one is replaced only on success.
    build
        Puts arrays, groups and attributes into the empty group it is given.
    """
    members: dict[str, Buffer] = {}
    build(zarr.create_group(MemoryStore(members), zarr_format=3))
    with atomic_path(path) as part:
        try:
            _write_members(part, members)
        except OSError as error:  # a full disk, most often
            raise UserError(f"cannot write {path}: {error.strerror}") from error


@contextlib.contextmanager
def open_zip(path: str | os.PathLike[str]) -> Iterator[zarr.Group]:
    """Open a file of `write_zip` for reading; arrays are read when they are indexed.

    A file that is missing, cut off, damaged or something else altogether is a `UserError`, also
    when the damage shows only while the body of the `with` statement reads an array.
    """
    path = Path(path)
    store = _open_store(path)
    try:
        yield _open_root(store, path)
    except (zipfile.BadZipFile, EOFError) as error:
        raise UserError(
            f"{path} is damaged ({error}): delete the file and make it again"
        ) from error
    finally:
        store.close()


def put(group: zarr.Group, name: str, array: ArrayLike, dims: Sequence[str], **attrs: Any) -> None:
    """Store a numeric array with the names of its dimensions and further attributes.

    Text belongs into attributes: Zarr v3 has no settled way to store arrays of strings.
    """
    values = np.asarray(array)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"array '{name}' must be numeric, not {values.dtype}")
    group.create_array(
        name,
        data=values,
        chunks=_chunks(values),
        dimension_names=tuple(dims),
        attributes=attrs,
        # A chunk of zeros is written like any other: what was put is in the file, bit for bit.
        config={"write_empty_chunks": True},
    )


def _write_members(path: Path, members: dict[str, Buffer]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members, key=lambda name: (name != _ROOT, name)):
            member = zipfile.ZipInfo(name, _DATE)
            member.external_attr = 0o644 << 16
            archive.writestr(member, members[name].to_bytes())


def _chunks(values: np.ndarray) -> tuple[int, ...]:
    shape = tuple(max(1, length) for length in values.shape)
    if values.nbytes <= ONE_CHUNK_BYTES:
        return shape
    row_bytes = values.nbytes // shape[0]
    return (max(1, ROW_CHUNK_BYTES // row_bytes), *shape[1:])


def _open_store(path: Path) -> ZipStore:
    if not path.exists():
        raise UserError(f"{path} does not exist")
    try:
        # Zarr opens the file late and reports oddly; reading the directory here settles it.
        zipfile.ZipFile(path).close()
    except zipfile.BadZipFile as error:
        raise UserError(
            f"{path} is cut off or not a zip file: delete the file and make it again"
        ) from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    return ZipStore(path, mode="r")


def _open_root(store: ZipStore, path: Path) -> zarr.Group:
    try:
        return zarr.open_group(store, mode="r", zarr_format=3)
    except zipfile.BadZipFile:
        raise
    except Exception as error:
        # Zarr reports a missing group, an array in its place and broken metadata by unrelated
        # exceptions; for the user they are one fault.
        raise UserError(f"{path} is a zip file but holds no Zarr v3 group") from error
