"""What every way of computing the expectations has in common."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gvibench.numerics.expectations.compiled.loader import load_kernel

__all__ = ["Expectation", "address"]

Array = NDArray[Any]


class Expectation:
    """F0 = E phi(X), F1 = E phi'(X), F2 = E phi''(X) for X ~ N(mu, s2), phi(x) = log(1 + exp x)."""

    name: str
    """As in the run specification."""
    kernel: str
    """Name of the compiled code."""
    table: NDArray[np.float64]
    """What the compiled code needs beside the points."""

    def __init__(self, kernel: str, table: NDArray[np.float64]) -> None:
        self.kernel = kernel
        self.table = _aligned(table)

    def evaluate(self, mu: Array, s2: Array, f0: Array, f1: Array, f2: Array) -> None:
        """Write the expectations at (`mu`, `s2`) into `f0`, `f1` and `f2`.

        All five are one-dimensional contiguous arrays of one length and one type, float64 or
        float32 (then computed in float64 and rounded). The result at a point depends on that
        point alone, to the last bit. A point that is not finite, or whose variance is negative,
        yields NaN.
        """
        if mu.dtype not in (np.float64, np.float32):
            raise ValueError(f"expected float64 or float32, not {mu.dtype}")
        # The kernel trusts its arguments; a wrong one would overwrite memory.
        for array in (mu, s2, f0, f1, f2):
            if array.shape != (mu.size,) or array.dtype != mu.dtype or not array.flags.c_contiguous:
                raise ValueError("expected five contiguous vectors of one length and type")
        if not (f0.flags.writeable and f1.flags.writeable and f2.flags.writeable):
            raise ValueError("the results must be writeable")
        kernel = load_kernel(self.kernel, mu.dtype)
        addresses = map(address, (mu, s2, f0, f1, f2))
        kernel(address(self.table), len(self.table), mu.size, *addresses)

    def __call__(self, mu: ArrayLike, s2: ArrayLike) -> tuple[Array, Array, Array]:
        """Return F0, F1 and F2 for numbers or arrays that broadcast together."""
        mu, s2 = np.broadcast_arrays(np.asarray(mu), np.asarray(s2))
        single = mu.dtype == s2.dtype == np.float32
        dtype = np.float32 if single else np.float64
        flat_mu, flat_s2 = (np.ascontiguousarray(v, dtype).ravel() for v in (mu, s2))
        results = np.empty((3, mu.size), dtype)
        self.evaluate(flat_mu, flat_s2, *results)
        f0, f1, f2 = results.reshape(3, *mu.shape)
        return f0, f1, f2


def _aligned(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a copy that begins with a cache line, so that few vectors of it lie across two."""
    line = 64 // table.itemsize
    room = np.empty(table.size + line)
    start = -(address(room) // table.itemsize) % line
    copy = room[start : start + table.size].reshape(table.shape)
    copy[...] = table
    return copy


def address(array: Array) -> int:
    """Return where the numbers of an array begin."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # read-only or empty; this way is slower
        address: int = array.ctypes.data
        return address
