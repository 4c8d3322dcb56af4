"""Base class of the expectations."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gvibench.numerics.expectations.compiled.loader import address, load_expectation

__all__ = ["Expectation"]

Array = NDArray[Any]


class Expectation:
    """F0 = E phi(X), F1 = E phi'(X), F2 = E phi''(X) for X ~ N(mu, s2), phi(x) = log(1 + exp x)."""

    name: str
    """Name in the run specification."""
    kernel: str
    """Name of the module in `compiled` that evaluates the expectation."""
    table: NDArray[np.float64]
    """Numbers that the compiled code needs in addition to the points."""

    def __init__(self, kernel: str, table: NDArray[np.float64]) -> None:
        self.kernel = kernel
        self.table = _aligned(table)

    def evaluate(self, mu: Array, s2: Array, f0: Array, f1: Array, f2: Array) -> None:
        """Write the expectations at (`mu`, `s2`) into `f0`, `f1` and `f2`.

        All five are one-dimensional contiguous arrays of one length and one type, float64 or
        float32 (then computed in float64 and rounded). The result at a point does not depend on
        the other points, down to the last bit. The result is NaN at points that are not finite or
        whose variance is negative.
        """
        if mu.dtype not in (np.float64, np.float32):
            raise ValueError(f"expected float64 or float32, not {mu.dtype}")
        # The kernel does not check its arguments: a wrong one would overwrite memory.
        for array in (mu, s2, f0, f1, f2):
            if array.shape != (mu.size,) or array.dtype != mu.dtype or not array.flags.c_contiguous:
                raise ValueError("expected five contiguous vectors of one length and type")
        if not (f0.flags.writeable and f1.flags.writeable and f2.flags.writeable):
            raise ValueError("the result arrays must be writeable")
        kernel = load_expectation(self.kernel, mu.dtype)
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
    """Return a copy that starts on a cache line, so that few vector loads span two lines."""
    line = 64 // table.itemsize
    buffer = np.empty(table.size + line)
    start = -(address(buffer) // table.itemsize) % line
    copy = buffer[start : start + table.size].reshape(table.shape)
    copy[...] = table
    return copy
