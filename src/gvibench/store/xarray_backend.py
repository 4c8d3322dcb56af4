"""Open traces and other gvibench files with `xarray.open_dataset("t.zarr.zip")`."""

import os
import zipfile
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from xarray.backends import BackendEntrypoint
from zarr.core.buffer import Buffer, cpu
from zarr.storage import MemoryStore, ZipStore

from gvibench.store.remote import download, is_remote

__all__ = ["GvibenchBackend"]


def decode_labels(dataset: xr.Dataset) -> xr.Dataset:
    """Replace codes with the text in their attribute `categories`, as coordinates.

    Text is stored as codes, because Zarr v3 has no stable data type for arrays of strings.
    """
    for name, variable in dataset.variables.items():
        if "categories" in variable.attrs:
            attrs = dict(variable.attrs)
            words = np.array(attrs.pop("categories"), dtype=object)
            dataset = dataset.assign_coords({name: (variable.dims, words[variable.values], attrs)})
    return dataset


def _store(path: str) -> ZipStore | MemoryStore:
    if not is_remote(path):
        return ZipStore(path, mode="r")
    with zipfile.ZipFile(download(path)) as archive:
        members: dict[str, Buffer] = {
            name: cpu.Buffer.from_bytes(archive.read(name)) for name in archive.namelist()
        }
    return MemoryStore(members, read_only=True)


class GvibenchBackend(BackendEntrypoint):
    """Backend of xarray for Zarr v3 groups in zip files."""

    description: ClassVar[str] = "Open gvibench traces (*.zarr.zip)"
    open_dataset_parameters: ClassVar[tuple[str, ...]] = ("filename_or_obj", "drop_variables")

    def open_dataset(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None
    ) -> xr.Dataset:
        """Open a file for reading. Variables are loaded when they are used."""
        store = _store(os.fspath(filename_or_obj))
        dataset: xr.Dataset = xr.open_zarr(
            store, consolidated=False, chunks=None, drop_variables=drop_variables
        )
        dataset = decode_labels(dataset)
        dataset.set_close(store.close)
        return dataset

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return whether the file name ends with `.zarr.zip`."""
        return isinstance(filename_or_obj, str | os.PathLike) and os.fspath(
            filename_or_obj
        ).endswith(".zarr.zip")
