"""Locate the cache, write files atomically and open compressed files."""

import bz2
import contextlib
import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from gvibench.errors import UserError

__all__ = ["UNPACKING_ERRORS", "atomic_path", "cache_dir", "check_writable", "open_raw"]

UNPACKING_ERRORS = (OSError, EOFError, zlib.error)
"""Errors that the standard library raises for a corrupt .gz or .bz2 file."""


def cache_dir() -> Path:
    """Return the folder for downloads, prepared data and fitted tables.

    The environment variable `GVIBENCH_CACHE` overrides the default of the operating system.
    """
    if override := os.environ.get("GVIBENCH_CACHE"):
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("gvibench", appauthor=False))


@contextlib.contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the folder of `target`, and rename it to `target` on success.

    The file is flushed to disk before the rename. If the process or the machine crashes, `target`
    is either unchanged or complete.
    """
    target = Path(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=".part", dir=target.parent
        )
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror}") from error
    os.close(handle)
    part = Path(name)
    try:
        yield part
        # mkstemp creates private files. Give the result the permissions of any other new file.
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o666 & ~umask)
        descriptor = os.open(part, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        part.replace(target)
    except OSError as error:  # usually a full disk
        raise UserError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):  # the folder may be gone or read-only by now
            part.unlink(missing_ok=True)


def check_writable(target: Path) -> None:
    """Raise UserError if `target` cannot be written. Call this before a long computation."""
    folder = target.absolute().parent
    while not folder.exists():
        folder = folder.parent
    if target.is_dir():
        raise UserError(f"cannot write {target}: it is a folder")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"cannot write {target}: {folder} is not a writable folder")


def open_raw(path: Path) -> IO[bytes]:
    """Open a file for reading. Detect bzip2 and gzip from the content and decompress it."""
    with path.open("rb") as stream:
        magic = stream.read(3)
    if magic == b"BZh":
        return cast(IO[bytes], bz2.BZ2File(path))
    if magic[:2] == b"\x1f\x8b":
        return cast(IO[bytes], gzip.GzipFile(path))
    return path.open("rb")
