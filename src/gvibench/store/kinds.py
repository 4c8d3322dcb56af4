"""What a file is, judged by its content, and what may be written in its place.

Commands overwrite files of their own kind only: a trace replaces a trace, a page replaces a page.
"""

import json
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from gvibench.errors import UserError
from gvibench.store.files import check_writable, fetched, is_remote

__all__ = ["ARCHIVE", "OPTIMUM", "PAGE", "PREPARED", "TRACE", "Kind", "check_output", "kind_of"]

PAGE_MARK = b'<meta name="generator" content="gvibench">'
HEAD_BYTES = 4096
"""Length of the beginning of a page that holds its mark."""
MOST_METADATA = 2**28
"""Bytes of metadata that are read to find out what a file is."""


@dataclass(frozen=True)
class Kind:
    """A kind of file that a command writes."""

    name: str
    """Name that `kind_of` returns."""
    noun: str
    """Name for people, with its article."""
    ending: str
    """How names of such files end."""


TRACE = Kind("gvibench trace", "a trace", ".zarr.zip")
OPTIMUM = Kind("gvibench optimum", "an optimum", ".zarr.zip")
PREPARED = Kind("gvibench prepared data", "prepared data", ".zarr.zip")
PAGE = Kind("gvibench page", "a report page", ".html")
ARCHIVE = Kind("gvibench archive", "an exported study", ".zip")


def kind_of(path: str | Path) -> str | None:
    """Return what kind of file of gvibench this is, or nothing if it is another program's."""
    source = fetched(str(path)) if is_remote(path) else path
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
    if "zarr.json" not in names or archive.getinfo("zarr.json").file_size > MOST_METADATA:
        return None
    metadata = json.loads(archive.read("zarr.json"))
    attributes = metadata.get("attributes") if isinstance(metadata, dict) else None
    kind = attributes.get("kind") if isinstance(attributes, dict) else None
    return kind if isinstance(kind, str) and kind.startswith("gvibench ") else None


def check_output(target: Path, kind: Kind, *, force: bool) -> None:
    """Refuse a target that cannot be written, or that holds something of another kind.

    With `force` any file is replaced; a folder never is.
    """
    if not _fits(target, kind):
        raise UserError(f"cannot write {target}: the name of {kind.noun} ends with {kind.ending}")
    check_writable(target)
    if not target.exists() or force:
        return
    if not target.is_file() or _readable_kind(target) != kind.name:
        raise UserError(
            f"{target} exists and is not {kind.noun} of gvibench: choose another name, or replace "
            "it with --force"
        )


def _fits(target: Path, kind: Kind) -> bool:
    name = target.name
    # An archive named like a Zarr store would be opened as one.
    of_another = kind is ARCHIVE and name.endswith(TRACE.ending)
    return name.endswith(kind.ending) and name != kind.ending and not of_another


def _readable_kind(target: Path) -> str | None:
    try:
        return kind_of(target)
    except OSError:
        return None
