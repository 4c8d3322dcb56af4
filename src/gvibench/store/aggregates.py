"""Locate, open and write the aggregate of a study."""

import contextlib
import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numcodecs import Zstd

from gvibench.errors import UserError
from gvibench.store.traces import SCALARS
from gvibench.store.zarrzip import Group, chunked_array, member, open_zip

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "AGGREGATE",
    "KIND",
    "compress",
    "locate_aggregate",
    "open_aggregate",
    "put_columns",
    "write_aggregate",
]

AGGREGATE = "aggregate.zarr.zip"
KIND = "gvibench aggregate"
COMPRESSION_LEVEL = 1


def open_aggregate(path: str | Path) -> "xr.Dataset":
    """Open the aggregate of a study. Variables are loaded when they are used."""
    import xarray as xr

    from gvibench.store.xarray_backend import GvibenchBackend

    with open_zip(path) as root:
        root.check_chunks()
    try:
        dataset = xr.open_dataset(path, engine=GvibenchBackend)
    except Exception as error:  # Zarr and xarray raise many types of errors for invalid metadata
        raise UserError(
            f"{path} cannot be read as an aggregate ({error}): delete the file and run snakemake "
            "again"
        ) from error
    if dataset.attrs.get("kind") != KIND:
        dataset.close()
        raise UserError(
            f"{path} is not a gvibench aggregate: use a study's folder, its {AGGREGATE} or its "
            "exported archive"
        )
    return dataset


@contextlib.contextmanager
def locate_aggregate(path: Path) -> Iterator[Path]:
    """Yield the path of a study's aggregate, given its folder, the aggregate or an archive.

    The folders `figures` and `tables` of the study are next to the aggregate. An archive is
    unpacked to a temporary folder for the duration of the context.
    """
    if path.is_dir():
        yield path / AGGREGATE
        return
    if not _is_archive(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="gvibench-") as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                wanted = [name for name in archive.namelist() if not name.startswith("runs/")]
                archive.extractall(folder, wanted)
        except (OSError, zipfile.BadZipFile, zlib.error) as error:
            raise UserError(f"{path} is corrupt ({error}): download or export it again") from error
        yield Path(folder) / AGGREGATE


def _is_archive(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return AGGREGATE in archive.namelist()
    except (OSError, zipfile.BadZipFile):  # open_aggregate raises a better message
        return False


def put_columns(root: Group, columns: Mapping[str, Sequence[Any]]) -> None:
    """Add coordinates along `run`. Text is stored as codes with a list of categories."""
    for name, values in columns.items():
        long_name = name.replace("_", " ")
        if all(isinstance(value, bool | int | float) for value in values):
            root.put(name, np.array(values), ["run"], long_name=long_name)
            continue
        words = [value if isinstance(value, str) else json.dumps(value) for value in values]
        categories = sorted(set(words))
        code_of = {word: code for code, word in enumerate(categories)}
        codes = np.array([code_of[word] for word in words], dtype=np.int32)
        root.put(name, codes, ["run"], long_name=long_name, categories=categories)
    root.attrs["coordinates"] = " ".join(columns)  # xarray turns these into coordinates


def compress(values: np.ndarray) -> bytes:
    """Return the compressed content of one chunk of a curve."""
    content: bytes = Zstd(level=COMPRESSION_LEVEL).encode(values)
    return content


def write_aggregate(
    path: Path,
    root: Group,
    names: Sequence[str],
    shape: tuple[int, int],
    chunk_rows: int,
    blocks: Iterable[Sequence[bytes]],
) -> None:
    """Write an aggregate: first `root`, then the compressed chunks of the curves as they arrive.

    Parameters
    ----------
    path
        File to write.
    root
        Attributes, coordinates and small variables.
    names
        Names of the curves.
    shape
        Number of runs and number of iterations.
    chunk_rows
        Number of runs per chunk.
    blocks
        For each block of runs, one compressed chunk per curve.
    """
    codec = {"name": "zstd", "configuration": {"level": COMPRESSION_LEVEL, "checksum": False}}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in root.members():
            archive.writestr(*member(name, content))
        for name in names:
            long_name, units = SCALARS[name]
            content = chunked_array(
                shape,
                (chunk_rows, shape[1]),
                ["run", "iteration"],
                codec,
                {"long_name": long_name, "units": units},
            )
            archive.writestr(*member(f"{name}/zarr.json", content))
        for k, chunks in enumerate(blocks):
            for name, chunk in zip(names, chunks, strict=True):
                archive.writestr(*member(f"{name}/c/{k}/0", chunk, compress=False))
