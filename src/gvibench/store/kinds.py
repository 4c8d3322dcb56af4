"""Identify the kind of a file by its content, and check whether a command may overwrite it.

A command only overwrites files of the kind it writes: a trace replaces a trace, a page replaces a
page.
"""

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from gvibench.errors import UserError
from gvibench.store.files import check_writable
from gvibench.store.remote import download, is_remote

__all__ = ["ARCHIVE", "OPTIMUM", "PAGE", "PREPARED", "TRACE", "Kind", "check_output", "kind_of"]

PAGE_MARK = b'<meta name="generator" content="gvibench">'
HEAD_BYTES = 4096
"""Number of bytes at the start of a page that contain its mark."""
MAX_METADATA_BYTES = 2**28
"""Maximum size of the metadata that are read to identify a file."""


@dataclass(frozen=True)
class Kind:
    """A kind of file that a command writes."""

    name: str
    """Name that `kind_of` returns."""
    noun: str
    """Noun for messages, with its article."""
    ending: str
    """Ending of the file name."""


TRACE = Kind("gvibench trace", "a trace", ".zarr.zip")
OPTIMUM = Kind("gvibench optimum", "an optimum", ".zarr.zip")
PREPARED = Kind("gvibench prepared data", "prepared data", ".zarr.zip")
PAGE = Kind("gvibench page", "a report page", ".html")
ARCHIVE = Kind("gvibench archive", "an exported study", ".zip")


def kind_of(path: str | Path) -> str | None:
    """Return the kind of a gvibench file, or None if it is not a gvibench file."""
    source = download(str(path)) if is_remote(path) else path
    try:
        with zipfile.ZipFile(source) as archive:
            return _kind_of_zip(archive)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError):
        pass
    if is_remote(path):
        return None
    with Path(path).open("rb") as file:
        return PAGE.name if PAGE_MARK in file.read(HEAD_BYTES) else None


def _kind_of_zip(archive: zipfile.ZipFile) -> str | None:
    names = set(archive.namelist())
    if {"ro-crate-metadata.json", "aggregate.zarr.zip"} <= names:
        return ARCHIVE.name
    if "zarr.json" not in names or archive.getinfo("zarr.json").file_size > MAX_METADATA_BYTES:
        return None
    metadata = json.loads(archive.read("zarr.json"))
    attributes = metadata.get("attributes") if isinstance(metadata, dict) else None
    kind = attributes.get("kind") if isinstance(attributes, dict) else None
    return kind if isinstance(kind, str) and kind.startswith("gvibench ") else None


def check_output(target: Path, kind: Kind, *, force: bool) -> None:
    """Raise UserError if `target` cannot be written or is an existing file of another kind.

    With `force`, any file may be replaced, but never a folder.
    """
    if not _is_valid_name(target.name, kind):
        raise UserError(
            f"cannot write {target}: the name of {kind.noun} must end with {kind.ending}"
        )
    check_writable(target)
    if not target.exists() or force:
        return
    if not target.is_file() or _readable_kind(target) != kind.name:
        raise UserError(
            f"{target} exists and is not {kind.noun} of gvibench: choose another name, or replace "
            "it with --force"
        )


def _is_valid_name(name: str, kind: Kind) -> bool:
    # An archive with the name of a Zarr store would be opened as a Zarr store.
    misleading = kind is ARCHIVE and name.endswith(TRACE.ending)
    return name.endswith(kind.ending) and name != kind.ending and not misleading


def _readable_kind(target: Path) -> str | None:
    try:
        return kind_of(target)
    except OSError:
        return None
