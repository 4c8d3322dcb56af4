"""Read files from object storage, such as S3."""

import os
from io import BytesIO
from typing import Any

from gvibench.errors import UserError

__all__ = ["RemoteFile", "download", "is_remote"]


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URL, such as `s3://bucket/name`."""
    return "://" in os.fspath(path)


def download(address: str) -> BytesIO:
    """Return the content of a remote file. Credentials and endpoint come from the environment.

    The whole file is downloaded, because most of it is needed and one request is faster than many.
    Large files, of which only parts are needed, are read by `RemoteFile`.
    """
    filesystem, path, errors = _connect(address)
    try:
        return BytesIO(filesystem.cat_file(path))
    except errors as error:
        raise _failure(address, error) from error


class RemoteFile:
    """File in object storage, of which any range of bytes can be read."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._filesystem, self._path, self._errors = _connect(address)
        try:
            self.size = int(self._filesystem.size(self._path))
        except self._errors as error:
            raise _failure(address, error) from error

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes from `start` up to, but not including, `stop`."""
        try:
            return bytes(self._filesystem.cat_file(self._path, start=start, end=stop))
        except self._errors as error:
            raise _failure(self._address, error) from error


def _connect(address: str) -> tuple[Any, str, tuple[type[Exception], ...]]:
    """Return a file system, the path in it, and the errors that its methods raise."""
    from fsspec.core import url_to_fs

    try:
        from obstore.exceptions import BaseError
        from obstore.fsspec import register
    except ImportError as error:
        raise UserError(f"reading {address} needs: pip install 'gvibench[s3]'") from error
    register(address.partition("://")[0])
    errors = (OSError, ValueError, BaseError)
    try:
        return (*url_to_fs(address), errors)
    except errors as error:
        raise _failure(address, error) from error


def _failure(address: str, error: Exception) -> UserError:
    return UserError(f"cannot read {address}: {' '.join(str(error).split())}")
