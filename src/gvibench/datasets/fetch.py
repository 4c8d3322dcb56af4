"""Get raw files from a local mirror, the user's cache or the network, and verify them.

A download is written to a temporary file and renamed only after it has been verified, so that the
cache never holds a wrong file. `GVIBENCH_DATA` sets a mirror: either a folder, whose files are used
in place, or a URL, to which file names are appended.
"""

import hashlib
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from gvibench.datasets.read import read_svmlight
from gvibench.errors import UserError
from gvibench.spec.catalogue import File
from gvibench.store.files import UNPACKING_ERRORS, atomic_path, cache_dir, open_raw

__all__ = ["raw_file", "sha256_of"]

ATTEMPTS = 3
PAUSE_SECONDS = 1.0
TIMEOUT_SECONDS = 30


def raw_file(file: File) -> Path:
    """Return the verified local path of `file`. Download the file if needed."""
    mirror = os.environ.get("GVIBENCH_DATA", "")
    if mirror and not mirror.startswith(("http://", "https://")):
        return _in_folder(file, Path(mirror).expanduser())
    url = f"{mirror.rstrip('/')}/{file.name}" if mirror else file.url
    cached = cache_dir() / "raw" / file.name
    if cached.exists():
        try:
            _check(file, cached, str(cached))
        except UserError as error:
            warnings.warn(f"{error}; downloading it again", stacklevel=2)
        else:
            return cached
    with atomic_path(cached) as part:
        _download(url, part)
        _check(file, part, url)
    return cached


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _in_folder(file: File, folder: Path) -> Path:
    path = folder / file.name
    if not path.is_file():
        raise UserError(
            f"{path} does not exist: copy {file.name} to this folder, which is set by "
            f"GVIBENCH_DATA, or unset GVIBENCH_DATA to download the file from {file.url}"
        )
    _check(file, path, str(path))
    return path


def _download(url: str, target: Path) -> None:
    try:
        import pooch
        import requests
    except ImportError as error:
        raise UserError(f"downloading {url} needs: pip install 'gvibench[data]'") from error

    download = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),
        chunk_size=2**16,
        timeout=TIMEOUT_SECONDS,
        # Ask for the file as it is. A server could otherwise compress it, which changes its hash.
        headers={"Accept-Encoding": "identity"},
    )
    for attempt in range(1, ATTEMPTS + 1):
        try:
            download(url, str(target), None)
            return
        except requests.HTTPError as error:
            failure = f"the server answered {error}"
            if error.response is not None and error.response.status_code < 500:
                break  # a client error, e.g. 404; a retry would fail in the same way
        except requests.RequestException as error:
            failure = _root_cause(error)
        except OSError as error:
            raise UserError(f"cannot write {target}: {error.strerror}") from error
        if attempt < ATTEMPTS:
            time.sleep(PAUSE_SECONDS * attempt)
    raise UserError(
        f"could not download {url}: {failure}; try again later, or set GVIBENCH_DATA to a folder "
        f"or a URL with the file {url.rsplit('/', 1)[-1]}"
    )


def _root_cause(error: BaseException) -> str:
    # Libraries wrap network errors several times. The innermost one has the clearest message.
    while error.__context__ is not None:
        error = error.__context__
    return str(error) or type(error).__name__


def _check(file: File, path: Path, origin: str) -> None:
    """Raise UserError if the file at `path` is not `file`. Messages call it `origin`."""
    actual, expected = sha256_of(path), file.sha256
    if actual == expected:
        return
    content = _content_sha256(path) if file.content_sha256 is not None else None
    if content is not None and content == file.content_sha256:
        return  # the same data, compressed differently
    mismatch = f"{origin} is not the {file.name} of the catalogue"
    if expected is not None:
        mismatch += f": its SHA-256 is {actual}, not {expected}"
    if content is not None:
        mismatch += f" (decompressed: {content}, not {file.content_sha256})"
    if _is_web_page(path):
        raise UserError(f"{mismatch}; the server sent a web page")
    if file.confirmed:
        raise UserError(mismatch)
    if difference := _difference(file, path, origin):
        raise UserError(f"{mismatch}; {difference}")
    if expected is not None:
        warnings.warn(
            f"{mismatch}, but it is used, because rows, columns, labels and non-zeros agree",
            stacklevel=3,
        )


def _content_sha256(path: Path) -> str | None:
    """Return the SHA-256 of the decompressed content, or None if decompression fails."""
    try:
        with open_raw(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
    except UNPACKING_ERRORS:
        return None


def _is_web_page(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(64).lstrip().startswith(b"<")


def _difference(file: File, path: Path, origin: str) -> str:
    """Describe how the file differs from its counts in the catalogue; empty if it does not."""
    try:
        (table,) = read_svmlight([path], zero_based=False, origins=[origin])
    except UserError as error:
        return str(error)
    rows, columns = table.x.shape
    labels, counts = np.unique(table.y, return_counts=True)
    actual = {
        "rows": rows,
        "columns": columns,
        "labels": dict(zip(labels.tolist(), counts.tolist(), strict=True)),
        "non-zeros": np.count_nonzero(table.x.data),
    }
    expected = {
        "rows": file.rows,
        "columns": file.columns,
        "labels": file.label_counts,
        "non-zeros": file.nonzeros,
    }
    different = [name for name in expected if actual[name] != expected[name]]
    return "; ".join(f"its {name}: {actual[name]}, not {expected[name]}" for name in different)
