"""Zarr v3 groups in one zip file, written and read without the Zarr library.

The library costs a quarter of a second to import and a millisecond or two per array: more than many
a run. The part of the format that a finished, single-chunk array needs is small: a `zarr.json` per
node and one chunk of plain little-endian bytes per array, compressed by the zip itself. Any reader
of Zarr v3 opens these files; the tests hold them against Zarr and xarray.

Every member is written once, in a fixed order and with a fixed date, so that equal content gives
equal bytes.
"""

import contextlib
import itertools
import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gvibench.errors import UserError
from gvibench.store.files import atomic_path, fetched, is_remote

__all__ = ["Group", "StoredGroup", "chunked_array", "member", "open_zip", "write_zip"]

DATE = (1980, 1, 1, 0, 0, 0)
"""Date of every member: the earliest a zip can hold."""
COMPRESSION_LEVEL = 1
"""Numbers of a run are nearly incompressible; sparse data compress well at any level."""
CODECS = [{"name": "bytes", "configuration": {"endian": "little"}}]
KINDS = "biuf"
MEMBER = re.compile(r"([^/]+/)*(zarr\.json|c(/\d+)*)")
"""What the members of a group are called: metadata and chunks."""
MOST_METADATA = 2**30
"""Bytes of JSON that one node may have."""


@dataclass
class Group:
    """A group to be written: attributes, arrays and further groups, by name."""

    attrs: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, tuple[np.ndarray, dict[str, Any]]] = field(default_factory=dict)
    groups: dict[str, "Group"] = field(default_factory=dict)

    def put(self, name: str, array: ArrayLike, dims: Sequence[str], **attrs: Any) -> None:
        """Add a numeric array with the names of its dimensions and further attributes.

        Text belongs into attributes: Zarr v3 has no settled way to store arrays of strings.
        """
        values = np.asarray(array)
        if values.dtype.kind not in KINDS:
            raise TypeError(f"array '{name}' must be numeric, not {values.dtype}")
        if len(dims) != values.ndim:
            raise ValueError(f"array '{name}' has {values.ndim} dimensions, not {list(dims)}")
        values = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).reshape(values.shape)
        self.arrays[name] = (values, _array_metadata(values, dims, attrs))

    def group(self, name: str) -> "Group":
        """Return the group called `name`, which is added if it is not there."""
        return self.groups.setdefault(name, Group())

    def members(self, prefix: str = "") -> Iterator[tuple[str, bytes]]:
        """Yield names and contents of the zip's members, a node's metadata before its chunks."""
        metadata = {"zarr_format": 3, "node_type": "group", "attributes": self.attrs}
        yield f"{prefix}zarr.json", _to_json(metadata)
        for name, (values, described) in sorted(self.arrays.items()):
            yield f"{prefix}{name}/zarr.json", _to_json(described)
            if values.size:
                yield f"{prefix}{name}/{_chunk_key(values.ndim)}", values.tobytes()
        for name, group in sorted(self.groups.items()):
            yield from group.members(f"{prefix}{name}/")


def write_zip(path: str | os.PathLike[str], root: Group) -> None:
    """Write a group as one zip file, whole or not at all; an old file is replaced on success."""
    with atomic_path(path) as part, zipfile.ZipFile(part, "w") as archive:
        for name, content in root.members():
            archive.writestr(*member(name, content))


def member(
    name: str, content: bytes, *, compress: bool = True
) -> tuple[zipfile.ZipInfo, bytes, int, int]:
    """Return the arguments of `ZipFile.writestr` for a member."""
    info = zipfile.ZipInfo(name, DATE)
    info.external_attr = 0o644 << 16
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    return info, content, method, COMPRESSION_LEVEL


def chunked_array(
    shape: Sequence[int],
    chunk: Sequence[int],
    dims: Sequence[str],
    codec: dict[str, Any],
    attrs: dict[str, Any],
) -> bytes:
    """Return the metadata of a float64 array whose chunks the caller compresses and writes."""
    metadata = _array_metadata(np.empty((0,) * len(shape)), dims, attrs)
    metadata["shape"] = list(shape)
    metadata["chunk_grid"]["configuration"]["chunk_shape"] = list(chunk)
    metadata["fill_value"] = "NaN"
    metadata["codecs"] = [*CODECS, codec]
    return _to_json(metadata)


@contextlib.contextmanager
def open_zip(path: str | os.PathLike[str]) -> Iterator["StoredGroup"]:
    """Open a file of `write_zip`; arrays are read, and their checksums compared, when asked for.

    A file that is missing, cut off, damaged or something else altogether is a `UserError`, also
    when the damage shows only while the body of the `with` statement reads an array. The path may
    be the address of an object in a store.
    """
    try:
        archive = zipfile.ZipFile(fetched(str(path)) if is_remote(path) else path)
    except FileNotFoundError as error:
        raise UserError(f"{path} does not exist") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as error:
        raise UserError(
            f"{path} is cut off or not a zip file: give another file, or make it again"
        ) from error
    with archive:
        try:
            _refuse_strangers(archive.namelist())
            root = StoredGroup(archive, "")
        except _Malformed as error:
            raise UserError(
                f"{path} is a zip file but holds no Zarr v3 group ({error}): give a file that "
                "gvibench wrote"
            ) from error
        try:
            yield root
        except _Malformed as error:
            raise UserError(
                f"{path} is damaged ({error}): delete the file and make it again"
            ) from error


class _Malformed(Exception):  # noqa: N818
    """A member is missing, damaged, or does not say what it should."""


def _refuse_strangers(names: list[str]) -> None:
    # A flipped bit in a name would otherwise hide an array that a trace may or may not have.
    for name in names:
        if not MEMBER.fullmatch(name):
            raise _Malformed(f"'{name}' is no part of a Zarr group")
    if len(set(names)) < len(names):
        raise _Malformed("a member is there twice")


def _read_member(archive: zipfile.ZipFile, name: str, most: int = MOST_METADATA) -> bytes:
    try:
        if archive.getinfo(name).file_size > most:  # before it is unpacked into memory
            raise _Malformed(f"'{name}' is larger than it can be")
        return archive.read(name)
    except KeyError as error:
        raise _Malformed(f"'{name}' is missing") from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,  # an unknown compression
        OSError,
        RuntimeError,  # a password is asked for
        ValueError,  # places before the start of the file, names that are no text
        struct.error,
    ) as error:
        raise _Malformed(str(error)) from error


class StoredGroup:
    """A group in an open file."""

    def __init__(self, archive: zipfile.ZipFile, prefix: str) -> None:
        self._archive = archive
        self._prefix = prefix
        metadata = _from_json(_read_member(archive, f"{prefix}zarr.json"))
        if metadata.get("zarr_format") != 3 or metadata.get("node_type") != "group":
            raise _Malformed(f"'{prefix}' is not a Zarr v3 group")
        attrs = metadata.get("attributes", {})
        if not isinstance(attrs, dict):
            raise _Malformed("attributes are not a mapping")
        self.attrs: dict[str, Any] = attrs

    def names(self) -> list[str]:
        """Return the names of the arrays and groups directly in this one."""
        end = "/zarr.json"
        inner = [name for name in self._archive.namelist() if name.startswith(self._prefix)]
        nodes = [name[len(self._prefix) : -len(end)] for name in inner if name.endswith(end)]
        return [node for node in nodes if node and "/" not in node]

    def __contains__(self, name: str) -> bool:
        return name in self.names()

    def group(self, name: str) -> "StoredGroup":
        """Return the group called `name`."""
        return StoredGroup(self._archive, f"{self._prefix}{name}/")

    def read(self, name: str) -> np.ndarray:
        """Return an array; it cannot be written to."""
        return self._array(name, self._metadata(name))

    def read_all(self) -> dict[str, np.ndarray]:
        """Return all arrays directly in this group, by name."""
        described = {name: self._metadata(name) for name in self.names()}
        return {
            name: self._array(name, metadata)
            for name, metadata in described.items()
            if metadata.get("node_type") == "array"
        }

    def check_chunks(self) -> None:
        """Read every chunk of every array in the file and compare its checksum.

        Zarr takes a missing chunk for one that was never written, and shows its fill value.
        """
        present = set(self._archive.namelist())
        for node in present:
            if node.endswith("/zarr.json"):
                folder = node.removesuffix("/zarr.json")
                for key in _chunk_keys(_from_json(_read_member(self._archive, node)), folder):
                    size = self._archive.getinfo(key).file_size if key in present else 0
                    _read_member(self._archive, key, size)

    def _metadata(self, name: str) -> dict[str, Any]:
        return _from_json(_read_member(self._archive, f"{self._prefix}{name}/zarr.json"))

    def _array(self, name: str, metadata: dict[str, Any]) -> np.ndarray:
        node = f"{self._prefix}{name}"
        shape, dtype = _layout(metadata, node)
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        size = math.prod(shape) * dtype.itemsize
        content = _read_member(self._archive, f"{node}/{_chunk_key(len(shape))}", size)
        if len(content) != size:
            raise _Malformed(f"'{node}' has another size than its metadata say")
        return np.frombuffer(content, dtype).reshape(shape)


def _array_metadata(
    values: np.ndarray, dims: Sequence[str], attrs: dict[str, Any]
) -> dict[str, Any]:
    chunk = [max(1, length) for length in values.shape]
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(values.shape),
        "data_type": values.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": values.dtype.type(0).item(),
        "codecs": CODECS,
        "attributes": attrs,
        "dimension_names": list(dims),
    }


def _layout(metadata: dict[str, Any], node: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of an array that `Group.put` has written; refuse any other."""
    try:
        shape = tuple(int(length) for length in metadata["shape"])
        dtype = np.dtype(metadata["data_type"]).newbyteorder("<")
        chunk = metadata["chunk_grid"]["configuration"]["chunk_shape"]
    except (KeyError, TypeError, ValueError, OverflowError, SyntaxError) as error:
        raise _Malformed(f"'{node}' is not described as an array") from error
    if (
        metadata.get("codecs") != CODECS
        or dtype.kind not in KINDS
        or min(shape, default=0) < 0
        or chunk != [max(1, length) for length in shape]
    ):
        raise _Malformed(f"'{node}' is stored in a way that gvibench does not write")
    return shape, dtype


def _chunk_keys(metadata: dict[str, Any], node: str) -> Iterator[str]:
    """Yield the names of all chunks that an array should have."""
    if metadata.get("node_type") != "array":
        return
    try:
        chunk = metadata["chunk_grid"]["configuration"]["chunk_shape"]
        counts = [
            range(-(-length // size)) for length, size in zip(metadata["shape"], chunk, strict=True)
        ]
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise _Malformed(f"'{node}' is not described as an array") from error
    for position in itertools.product(*counts):
        yield "/".join([node, "c", *map(str, position)])


def _chunk_key(ndim: int) -> str:
    return "/".join(["c", *("0" for _ in range(ndim))])


def _to_json(metadata: dict[str, Any]) -> bytes:
    return json.dumps(metadata, allow_nan=False).encode()


def _from_json(content: bytes) -> dict[str, Any]:
    try:
        metadata = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _Malformed("its metadata are not JSON") from error
    if not isinstance(metadata, dict):
        raise _Malformed("its metadata are not a mapping")
    return metadata
