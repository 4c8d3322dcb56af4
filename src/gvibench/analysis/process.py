"""Save CPU time in the process of a job that analyses a small study."""

import contextlib
import gc
import sys
from collections.abc import Iterator

__all__ = ["light_process", "without"]


@contextlib.contextmanager
def light_process() -> Iterator[None]:
    """Do without Dask and garbage collection in a context.

    xarray imports Dask to recognise arrays larger than memory. It then works as if Dask were not
    installed, also after this context. The context therefore has no effect in a process that has
    already imported xarray or Dask.
    """
    if {"xarray", "dask"} & sys.modules.keys():
        yield
        return
    with without("dask"), _without_collection():
        yield


@contextlib.contextmanager
def without(package: str) -> Iterator[None]:
    """Let imports of a package fail in a context, unless it is already imported."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # Imports raise ModuleNotFoundError.
    try:
        yield
    finally:
        del sys.modules[package]


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Do not look for reference cycles in a context, nor for those of its objects later.

    Libraries consist of many objects that stay until the end of the process. Python would visit
    all of them several times, and once more when the process ends.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
