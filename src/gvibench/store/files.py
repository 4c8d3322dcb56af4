"""Where files go and how they appear: the user's cache, and whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from gvibench.errors import UserError

__all__ = ["atomic_path", "cache_dir", "check_writable", "fetched", "is_remote"]


def cache_dir() -> Path:
    """Folder for downloads, prepared data and fitted tables; `GVIBENCH_CACHE` overrides it."""
    if override := os.environ.get("GVIBENCH_CACHE"):
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("gvibench", appauthor=False))


@contextlib.contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `target` that becomes `target` only on success.

    The file is flushed to disk before the rename, so that `target` is either absent, its old
    self, or complete, whatever kills the process or the machine.
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
        # mkstemp makes private files; the result should have the permissions of any other file.
        umask = os.umask(0)
        os.umask(umask)
        part.chmod(0o666 & ~umask)
        descriptor = os.open(part, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        part.replace(target)
    except OSError as error:  # a full disk, most often
        raise UserError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):  # its folder may have gone, or turned read-only
            part.unlink(missing_ok=True)


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Say whether a path is the address of an object in a store, such as `s3://bucket/name`."""
    return "://" in os.fspath(path)


def fetched(address: str) -> BytesIO:
    """Return the content of an object; credentials and endpoint come from the usual variables.

    It is fetched whole: most of it is read sooner or later, and one request is faster than many.
    """
    from fsspec.core import url_to_fs

    try:
        from obstore.exceptions import BaseError
        from obstore.fsspec import register
    except ImportError as error:
        raise UserError(f"reading {address} needs: pip install 'gvibench[s3]'") from error
    register(address.partition("://")[0])
    try:
        filesystem, path = url_to_fs(address)
        return BytesIO(filesystem.cat_file(path))
    except (OSError, ValueError, BaseError) as error:
        raise UserError(f"cannot read {address}: {' '.join(str(error).split())}") from error


def check_writable(target: Path) -> None:
    """Refuse a place that could not take `target`, before any work is done for it."""
    folder = target.absolute().parent
    while not folder.exists():
        folder = folder.parent
    if target.is_dir():
        raise UserError(f"cannot write {target}: it is a folder")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"cannot write {target}: {folder} does not take new files")
