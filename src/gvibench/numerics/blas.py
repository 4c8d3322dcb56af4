"""Load the BLAS and LAPACK routines of SciPy without importing `scipy.linalg`.

Importing that package takes 0.3 s of CPU time, which is longer than many runs, and the backend
needs only five of its routines. Their extension modules depend on nothing else in SciPy, so they
are loaded from their files. If that fails, the package is imported in the usual way.
"""

import contextlib
import ctypes
import functools
import importlib
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

__all__ = ["blas", "lapack", "routine_address"]


@functools.cache
def blas() -> Any:
    """Return a module with the f2py wrappers of BLAS, e.g. `dtrmm`."""
    return _load("scipy.linalg._fblas", "scipy.linalg.blas")


@functools.cache
def lapack() -> Any:
    """Return a module with the f2py wrappers of LAPACK, e.g. `dpotrf`."""
    return _load("scipy.linalg._flapack", "scipy.linalg.lapack")


def routine_address(wrapper: Any) -> int:
    """Return the address of the Fortran routine that an f2py wrapper calls."""
    # A prototype of our own does not change the types of the shared `ctypes.pythonapi`.
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    get_pointer = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))
    address: int = get_pointer(wrapper._cpointer, None)
    return address


def _load(extension: str, public: str) -> Any:
    if "scipy.linalg" not in sys.modules:
        with contextlib.suppress(ImportError):
            return _load_file(extension)
    return importlib.import_module(public)


def _load_file(extension: str) -> Any:
    scipy = find_spec("scipy")  # does not import it
    if scipy is None or not scipy.submodule_search_locations:
        raise ImportError("SciPy is not installed as a folder")
    folder = Path(scipy.submodule_search_locations[0], "linalg")
    spec = FileFinder(str(folder), (ExtensionFileLoader, EXTENSION_SUFFIXES)).find_spec(extension)
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder} has no extension module {extension}")
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        # Some extension modules register themselves. A later import of `scipy.linalg` would then
        # take the registered module without making it an attribute of the package.
        sys.modules.pop(extension, None)
    return module
