"""Write the aggregate of a study with xarray, one shard of runs at a time.

Curves have the dimensions `run` and `record`. Runs differ in their number of records and in their
schedules, so `iteration` is a curve like the others, and records that a run does not have are
missing values. An array is divided into shards, each with the curves of many runs in one file, and
a shard into chunks, which can be read one by one.

Several processes write shards at the same time into a folder. Finally the folder is packed into one
zip file, because that is what Snakemake tracks safely: it notices that a file is missing or has
changed, but nothing that happens inside a folder.
"""

import contextlib
import json
import math
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from zarr.codecs import ZstdCodec

from gvibench.errors import UserError
from gvibench.store.aggregates import MEMBERS
from gvibench.store.files import atomic_path
from gvibench.store.traces import SCALARS
from gvibench.store.zarrzip import member

__all__ = ["Layout", "folder_beside", "pack", "put", "ragged"]

ITERATION = "iteration"
CHUNK_RUNS = 100
MAX_RECORDS = 1000
"""Maximum number of records in one chunk."""
NO_ITERATION = -1
"""Stored in place of a missing iteration."""
# The checksum detects damage when a chunk is read.
COMPRESSION: dict[str, Any] = {"compressors": (ZstdCodec(level=1, checksum=True),)}
SETTINGS: dict[str, Any] = {"consolidated": False, "zarr_format": 3}


@dataclass(frozen=True)
class Layout:
    """Shape of the curves of a study."""

    runs: int
    records: int
    """Maximum number of records of a run. The arrays are shortened to the actual number."""
    curves: tuple[str, ...]
    shard_runs: int
    """Number of runs in a shard, rounded up to full chunks."""

    def __post_init__(self) -> None:
        chunks = math.ceil(min(self.shard_runs, self.runs) / self._chunk_runs)
        object.__setattr__(self, "shard_runs", chunks * self._chunk_runs)

    @property
    def _chunk_runs(self) -> int:
        return min(CHUNK_RUNS, self.shard_runs, self.runs)

    def shards(self) -> Iterator[slice]:
        """Yield the runs of each shard."""
        for start in range(0, self.runs, self.shard_runs):
            yield slice(start, min(start + self.shard_runs, self.runs))

    @property
    def _encoding(self) -> dict[str, dict[str, Any]]:
        records = min(self.records, MAX_RECORDS)
        sizes = {"shards": (self.shard_runs, records), "chunks": (self._chunk_runs, records)}
        encoding = {name: {**sizes, **COMPRESSION} for name in self.curves}
        # xarray replaces the first by NaN; Zarr returns the second for records never written.
        missing = {"dtype": "int64", "_FillValue": NO_ITERATION, "fill_value": NO_ITERATION}
        return {ITERATION: {**sizes, **COMPRESSION, **missing}, **encoding}

    def create(self, folder: Path) -> None:
        """Write the metadata of all curves."""
        import dask.array

        # Nothing is computed, so the values do not matter.
        shape, chunks = (self.runs, self.records), (self.shard_runs, self.records)
        values = dask.array.full(shape, np.nan, chunks=chunks)  # type: ignore[no-untyped-call]
        names = (ITERATION, *self.curves)
        template = _labelled(dict.fromkeys(names, (("run", "record"), values)))
        template.to_zarr(folder, mode="w", compute=False, encoding=self._encoding, **SETTINGS)

    def write_shard(
        self, folder: Path, runs: slice, curves: Mapping[str, np.ndarray], *, alone: bool
    ) -> None:
        """Write the curves (run, record) of one shard.

        A shard that is `alone` needs no metadata from `create`, which would load Dask.
        """
        shard = _labelled({name: (("run", "record"), rows) for name, rows in curves.items()})
        if alone:
            shard.to_zarr(folder, mode="w", encoding=self._encoding, **SETTINGS)
            return
        region = {"run": runs, "record": slice(0, shard.sizes["record"])}
        shard.drop_attrs().to_zarr(folder, region=region, **SETTINGS)


def ragged(
    iterations: Sequence[np.ndarray],
    scalars: Sequence[Mapping[str, np.ndarray]],
    names: Iterable[str],
) -> dict[str, np.ndarray]:
    """Return the iterations and the named curves of runs as arrays (run, record).

    Records that a run does not have, and curves that it did not record, are NaN.
    """
    shape = len(iterations), max(map(len, iterations))
    curves = {name: np.full(shape, np.nan) for name in (ITERATION, *names)}
    for run, (iteration, recorded) in enumerate(zip(iterations, scalars, strict=True)):
        curves[ITERATION][run, : len(iteration)] = iteration
        for name in recorded.keys() & curves.keys():
            curves[name][run, : len(iteration)] = recorded[name]
    return curves


def _labelled(curves: Mapping[str, Any]) -> xr.Dataset:
    dataset = xr.Dataset(dict(curves))
    for name in dataset.variables:
        long_name, units = SCALARS.get(str(name), (str(name), "1"))
        dataset[name].attrs = {"long_name": long_name, "units": units}
    return dataset.set_coords(ITERATION)


def put(
    folder: Path,
    variables: xr.Dataset,
    chunks: Mapping[str, tuple[int, ...]] | None = None,
    *,
    compute: bool = True,
) -> None:
    """Add variables and attributes to an aggregate. Variables are compressed like curves."""
    encoding: dict[Any, Any] = {name: dict(COMPRESSION) for name in variables.variables}
    for name, sizes in (chunks or {}).items():
        encoding[name]["chunks"] = sizes
    # The type of the result depends on `compute`, which is not a literal here.
    variables.to_zarr(folder, mode="a", encoding=encoding, compute=compute, **SETTINGS)  # type: ignore[call-overload]


@contextlib.contextmanager
def folder_beside(target: Path) -> Iterator[Path]:
    """Yield a new folder next to `target`, and delete it at the end."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Absolute, because workers may run in another folder.
        parent = target.parent.absolute()
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=parent))
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror}") from error
    try:
        yield folder
    except OSError as error:  # usually a full disk
        raise UserError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pack(folder: Path, target: Path, records: int) -> None:
    """Move the content of a folder into one zip file, atomically.

    Shards of curves come first, so that a reader finds all other members in one piece at the end.
    Curves are shortened to the given number of records, and the names of all members are noted.
    Members are written in a fixed order, so that equal studies give equal bytes.
    """
    files = [path for path in folder.rglob("*") if path.is_file()]
    names = sorted((path.relative_to(folder).as_posix() for path in files), key=_position)
    root = folder / "zarr.json"
    metadata = json.loads(root.read_text())
    metadata["attributes"][MEMBERS] = [name for name in names if name != "zarr.json"]
    root.write_text(json.dumps(metadata))
    with atomic_path(target) as part, zipfile.ZipFile(part, "w") as archive:
        for name in names:
            content = (folder / name).read_bytes()
            is_metadata = name.endswith("zarr.json")
            if is_metadata:
                content = _shortened(content, records)
            archive.writestr(*member(name, content, compress=is_metadata))
            (folder / name).unlink()  # so that a study needs its space on the disk only once


def _position(name: str) -> tuple[bool, str]:
    """Return the sort key of a member. Labels of runs have one index, and curves have two."""
    return re.search(r"/c/\d+/\d+", name) is None, name


def _shortened(content: bytes, records: int) -> bytes:
    metadata = json.loads(content)
    names = metadata.get("dimension_names") or []
    if "record" in names:
        metadata["shape"][names.index("record")] = records
    return json.dumps(metadata).encode()
