"""Read files from object storage, such as S3."""

import os
from io import BytesIO

from gvibench.errors import UserError

__all__ = ["download", "is_remote"]


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URL, such as `s3://bucket/name`."""
    return "://" in os.fspath(path)


def download(address: str) -> BytesIO:
    """Return the content of a remote file. Credentials and endpoint come from the environment.

    The whole file is downloaded, because most of it is needed and one request is faster than many.
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
