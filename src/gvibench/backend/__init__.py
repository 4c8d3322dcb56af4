"""The small layer between the mathematics and the device.

Models and solvers are written against `Backend`: an array namespace `xp` plus the BLAS- and
LAPACK-level operations that an array namespace lacks or does wastefully. Matrices are row-major,
triangular factors are lower with zeros above the diagonal.
"""

from gvibench.backend.base import Array, Backend
from gvibench.errors import UserError

__all__ = ["Array", "Backend", "select"]


def select(device: str = "auto", dtype: str = "float64") -> Backend:
    """Return the backend for `device` (`auto`, `cpu`, `cuda`) computing in `dtype`."""
    if device == "cuda":
        raise UserError("device 'cuda' is not available in this version: use 'cpu' or 'auto'")
    from gvibench.backend.numpy_backend import NumpyBackend

    return NumpyBackend(dtype)
