"""Backends that run the numerical operations of models and solvers on a device.

Models and solvers are written against `Backend`: an array namespace `xp` plus the operations of
BLAS and LAPACK that an array namespace lacks or implements inefficiently. Matrices are row-major,
and triangular factors are lower triangular with zeros above the diagonal.
"""

from gvibench.numerics.base import Array, Backend

__all__ = ["Array", "Backend", "select"]


def select(device: str = "auto", dtype: str = "float64") -> Backend:
    """Return the backend for `device` (`auto`, `cpu`, `cuda`) that computes in `dtype`.

    `auto` selects a CUDA device if CuPy is installed and finds one, and the CPU otherwise.
    """
    if device != "cpu":
        from gvibench.numerics import cuda_backend

        if device == "cuda":
            cuda_backend.require_device()
        if cuda_backend.why_unavailable() is None:
            return cuda_backend.CudaBackend(dtype)
    from gvibench.numerics.numpy_backend import NumpyBackend

    return NumpyBackend(dtype)
