"""Raw files: from a mirror in a folder, the user's cache or the network, and always checked.

A download is written beside its place, checked, and only then renamed, so the cache never holds
a file that is not the right one. ``GVIBENCH_DATA`` names a mirror: a folder, whose files are used
where they are, or the address that the files' names are appended to.
"""

import hashlib
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from gvibench.datasets.catalogue import File
from gvibench.datasets.read import UNPACKING_ERRORS, open_raw, read_svmlight
from gvibench.errors import UserError
from gvibench.store.files import atomic_path, cache_dir

__all__ = ["raw_file", "sha256_of"]

ATTEMPTS = 3
PAUSE_SECONDS = 1.0
TIMEOUT_SECONDS = 30


def raw_file(file: File) -> Path:
    """Return where `file` is on this machine, checked; download it if need be."""
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
            f"{path} does not exist: put {file.name} into the folder that GVIBENCH_DATA names, "
            f"or unset GVIBENCH_DATA to download it from {file.url}"
        )
    _check(file, path, str(path))
    return path


def _download(url: str, target: Path) -> None:
    import pooch
    import requests

    download = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(),  # a log file needs no bar
        chunk_size=2**16,
        timeout=TIMEOUT_SECONDS,
        # The hash is of the file, not of what a server makes of it on the way.
        headers={"Accept-Encoding": "identity"},
    )
    for attempt in range(1, ATTEMPTS + 1):
        try:
            download(url, str(target), None)
            return
        except requests.HTTPError as error:
            failure = f"the server answered {error}"
            if error.response is not None and error.response.status_code < 500:
                break  # asking again will not help
        except requests.RequestException as error:
            failure = _root_cause(error)
        except OSError as error:
            raise UserError(f"cannot write {target}: {error.strerror}") from error
        if attempt < ATTEMPTS:
            time.sleep(PAUSE_SECONDS * attempt)
    raise UserError(
        f"could not download {url}: {failure}; try again later, or set GVIBENCH_DATA to a folder "
        f"or an address that has {url.rsplit('/', 1)[-1]}"
    )


def _root_cause(error: BaseException) -> str:
    # Libraries wrap network errors several deep; the innermost says it in plain words.
    while error.__context__ is not None:
        error = error.__context__
    return str(error) or type(error).__name__


def _check(file: File, path: Path, origin: str) -> None:
    """Raise UserError unless the file at `path` is `file`; `origin` is what messages call it."""
    found, expected = sha256_of(path), file.sha256
    if found == expected:
        return
    content = _content_sha256(path) if file.content_sha256 is not None else None
    if content is not None and content == file.content_sha256:
        return  # the same data in another container
    mismatch = f"{origin} is not the {file.name} of the catalogue"
    if expected is not None:
        mismatch += f": its SHA-256 is {found}, not {expected}"
    if content is not None:
        mismatch += f" (unpacked {content}, not {file.content_sha256})"
    if _is_web_page(path):
        raise UserError(f"{mismatch}; the server sent a web page")
    if file.confirmed:
        raise UserError(mismatch)
    if difference := _difference(file, path, origin):
        raise UserError(f"{mismatch}; {difference}")
    if expected is not None:
        warnings.warn(
            f"{mismatch}, but rows, columns, labels and non-zeros agree, so it is used",
            stacklevel=3,
        )


def _content_sha256(path: Path) -> str | None:
    """Return the SHA-256 of the unpacked content, or none if it cannot be unpacked."""
    try:
        with open_raw(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]
    except UNPACKING_ERRORS:
        return None


def _is_web_page(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(64).lstrip().startswith(b"<")


def _difference(file: File, path: Path, origin: str) -> str:
    """Say in what the rows of `path` differ from those of the catalogue, or nothing."""
    try:
        (table,) = read_svmlight([path], zero_based=False, origins=[origin])
    except UserError as error:
        return str(error)
    rows, columns = table.x.shape
    labels, counts = np.unique(table.y, return_counts=True)
    found = {
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
    different = [name for name in expected if found[name] != expected[name]]
    return "; ".join(f"its {name}: {found[name]}, not {expected[name]}" for name in different)
