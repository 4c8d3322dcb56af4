"""Read Zarr groups in zip files by ranges of bytes, from a disk or from object storage.

Zarr's own `ZipStore` reads a member from its start to reach a range in it, and only from a disk.
Shards of aggregates are stored in the zip without further compression, so a chunk of a shard is a
range of bytes of the file. This store reads just these bytes.
"""

import asyncio
import io
import os
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple

from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.buffer import Buffer, BufferPrototype

from gvibench.errors import UserError
from gvibench.store.remote import RemoteFile, is_remote

__all__ = ["ZipRangeStore"]

TAIL_BYTES = 2**16
"""Size of the end of a file that is read first. It usually contains the list of members."""
MAX_KEPT_BYTES = 2**24
"""Maximum size of the metadata of a remote file that are kept in memory."""


class _Member(NamedTuple):
    start: int
    """Position of the member's content in the file."""
    size: int
    """Size of the content in the file."""
    compressed: bool
    checksum: int


class _LocalFile:
    """File on a disk, of which any range of bytes can be read, by several threads at a time."""

    _descriptor = -1  # if the file cannot be opened

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self._descriptor).st_size

    def read(self, start: int, stop: int) -> bytes:
        return os.pread(self._descriptor, stop - start, start)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        self.close()


class _Tail(io.RawIOBase):
    """Readable file for `zipfile` that reads the end of a file in one piece."""

    def __init__(self, file: _LocalFile | RemoteFile) -> None:
        self._file = file
        self._offset = max(0, file.size - TAIL_BYTES)
        self._content = file.read(self._offset, file.size)
        self._position = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._file.size}[whence]
        if base + offset < 0:
            raise ValueError("negative position")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        stop = min(self._position + len(buffer), self._file.size)
        if self._position >= self._offset:
            content = self._content[self._position - self._offset : stop - self._offset]
        else:
            content = self._file.read(self._position, stop)
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)


class ZipRangeStore(Store):
    """Read-only Zarr store in a zip file.

    Parameters
    ----------
    path
        Path of the file, or its URL in object storage.
    """

    supports_writes: bool = False
    supports_deletes: bool = False
    supports_listing: bool = True

    def __init__(self, path: str) -> None:
        super().__init__(read_only=True)
        self.path = path
        self._file: _LocalFile | RemoteFile
        self._members: dict[str, _Member]
        self._connect()

    def _connect(self) -> None:
        self._file = RemoteFile(self.path) if is_remote(self.path) else _LocalFile(self.path)
        try:
            with zipfile.ZipFile(io.BufferedReader(_Tail(self._file))) as archive:
                self._members = _members(archive)
        except (zipfile.BadZipFile, ValueError, EOFError) as error:
            self.close()
            raise UserError(f"{self.path} is truncated or not a zip file") from error
        self._metadata: dict[str, bytes] = {}
        self._keep_metadata()
        self._is_open = True

    def _keep_metadata(self) -> None:
        """Read all metadata, those of a remote file in one request.

        In an aggregate they are behind the curves, together with the labels of the runs. Zarr reads
        metadata in tasks of which it abandons all but the first that fails, so that Python would
        log an error for each of the others. Therefore damage is found here.
        """
        self._kept_from, self._kept = self._file.size, b""
        metadata = {n: member for n, member in self._members.items() if n.endswith("zarr.json")}
        if isinstance(self._file, RemoteFile) and metadata:
            first = min(member.start for member in metadata.values())
            if self._file.size - first <= MAX_KEPT_BYTES:
                self._kept_from, self._kept = first, self._file.read(first, self._file.size)
        for name, member in metadata.items():
            try:
                content = self._read(member, None)
            except zlib.error as error:
                self.close()
                raise UserError(
                    f"{self.path} is damaged ('{name}': {error}): delete the file and run "
                    "snakemake again"
                ) from error
            self._metadata[name] = content

    def _bytes(self, start: int, stop: int) -> bytes:
        if start >= self._kept_from:
            return self._kept[start - self._kept_from : stop - self._kept_from]
        return self._file.read(start, stop)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ZipRangeStore) and self.path == other.path

    def __repr__(self) -> str:
        return f"ZipRangeStore('{self.path}')"

    def __getstate__(self) -> dict[str, Any]:
        # Workers may run in another folder.
        return {"path": self.path if is_remote(self.path) else os.path.abspath(self.path)}  # noqa: PTH100

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"])  # type: ignore[misc]

    def names(self) -> set[str]:
        """Return the names of all members."""
        return set(self._members)

    def close(self) -> None:
        """Close the file."""
        super().close()
        if isinstance(self._file, _LocalFile):
            self._file.close()

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return a member or a range of it, or None if there is no such member."""
        member = self._members.get(key)
        if member is None:
            return None
        if byte_range is None and key in self._metadata:
            return prototype.buffer.from_bytes(self._metadata[key])
        # In a thread, so that several requests to object storage are under way at a time.
        content = await asyncio.to_thread(self._read, member, byte_range)
        return prototype.buffer.from_bytes(content)

    def _read(self, member: _Member, byte_range: ByteRequest | None) -> bytes:
        if member.compressed:
            packed = self._bytes(member.start, member.start + member.size)
            content = zlib.decompress(packed, -zlib.MAX_WBITS)
            if zlib.crc32(content) != member.checksum:  # chunks have checksums of their own
                raise zlib.error("incorrect checksum")
            start, stop = _limits(byte_range, len(content))
            return content[start:stop]
        start, stop = _limits(byte_range, member.size)
        return self._bytes(member.start + start, member.start + stop)

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> list[Buffer | None]:
        """Return ranges of members."""
        return list(await asyncio.gather(*(self.get(key, prototype, of) for key, of in key_ranges)))

    async def exists(self, key: str) -> bool:
        """Return whether there is such a member."""
        return key in self._members

    async def set(self, key: str, value: Buffer) -> None:
        """Raise an error, because the store is read-only."""
        raise NotImplementedError

    async def delete(self, key: str) -> None:
        """Raise an error, because the store is read-only."""
        raise NotImplementedError

    async def list(self) -> AsyncIterator[str]:
        """Yield the names of all members."""
        for key in self._members:
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names of the members that start with `prefix`."""
        for key in self._members:
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Yield the names directly in the folder `prefix`."""
        start = f"{prefix.rstrip('/')}/" if prefix else ""
        inner = [key[len(start) :] for key in self._members if key.startswith(start)]
        for name in dict.fromkeys(key.partition("/")[0] for key in inner):
            yield name


def _members(archive: zipfile.ZipFile) -> dict[str, _Member]:
    """Return where the content of each member is.

    Its position depends on the length of a header that only a further request could read. The
    content ends where the next header starts, which is known.
    """
    infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    ends = [*(info.header_offset for info in infos[1:]), archive.start_dir]
    return {
        info.filename: _Member(
            end - info.compress_size,
            info.compress_size,
            info.compress_type != zipfile.ZIP_STORED,
            info.CRC,
        )
        for info, end in zip(infos, ends, strict=True)
    }


def _limits(byte_range: ByteRequest | None, size: int) -> tuple[int, int]:
    match byte_range:
        case None:
            return 0, size
        case RangeByteRequest():
            return byte_range.start, min(byte_range.end, size)
        case OffsetByteRequest():
            return byte_range.offset, size
        case SuffixByteRequest():
            return max(0, size - byte_range.suffix), size
    raise TypeError(f"unknown range {byte_range}")
