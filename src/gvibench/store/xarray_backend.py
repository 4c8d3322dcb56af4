"""Open traces and other gvibench files with `xarray.open_dataset("t.zarr.zip")`."""

import os
from collections.abc import Iterable
from typing import Any, ClassVar

import xarray as xr
from xarray.backends import BackendEntrypoint

from gvibench.store.traces import PACKED
from gvibench.store.zip_store import ZipRangeStore

__all__ = ["GvibenchBackend"]


class GvibenchBackend(BackendEntrypoint):
    """Backend of xarray for Zarr v3 groups in zip files."""

    description: ClassVar[str] = "Open gvibench traces and aggregates (*.zarr.zip)"
    open_dataset_parameters: ClassVar[tuple[str, ...]] = (
        "filename_or_obj",
        "drop_variables",
        "group",
    )
    supports_groups: ClassVar[bool] = True

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
    ) -> xr.Dataset:
        """Open a file, or a run in a file of several, for reading.

        Variables are loaded when they are used.
        """
        store = ZipRangeStore(os.fspath(filename_or_obj))
        dataset: xr.Dataset = xr.open_zarr(
            store, consolidated=False, chunks=None, drop_variables=drop_variables, group=group
        )
        if group is None and dataset.attrs.get("kind") == PACKED:
            runs = sorted({name.partition("/")[0] for name in store.names() if "/" in name})
            store.close()
            raise ValueError(
                f"{filename_or_obj} contains {len(runs)} runs: open one of them with "
                f"group='{runs[0]}', or all with xarray.open_datatree"
            )
        dataset.set_close(store.close)
        return dataset

    def open_datatree(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None
    ) -> xr.DataTree:
        """Open all runs of a file, by the names of their groups."""
        groups = self.open_groups_as_dict(filename_or_obj, drop_variables=drop_variables)
        return xr.DataTree.from_dict(groups)

    def open_groups_as_dict(
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None
    ) -> dict[str, xr.Dataset]:
        """Open all runs of a file, by the paths of their groups."""
        store = ZipRangeStore(os.fspath(filename_or_obj))
        groups: dict[str, xr.Dataset] = xr.open_groups(
            store,  # type: ignore[arg-type]  # the engine accepts stores of Zarr
            engine="zarr",
            consolidated=False,
            drop_variables=drop_variables,
        )
        return groups

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return whether the file name ends with `.zarr.zip`."""
        return isinstance(filename_or_obj, str | os.PathLike) and os.fspath(
            filename_or_obj
        ).endswith(".zarr.zip")
