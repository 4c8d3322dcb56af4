"""Special functions on the device of a backend."""

import importlib
from typing import Any

from gvibench.numerics.base import Backend

__all__ = ["special_functions"]


def special_functions(backend: Backend) -> Any:
    """Return the module with `erfcx`, `gammaln`, `ndtr` and `log_ndtr` for arrays of a backend."""
    on_device = backend.xp.__name__ == "cupy"
    return importlib.import_module("cupyx.scipy.special" if on_device else "scipy.special")
