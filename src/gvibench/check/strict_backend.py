"""Backend on a simulated device that forbids implicit transfers and reads of values.

`array_api_strict` raises an error if an array on its simulated device is combined with NumPy or
with an array on the CPU. It permits `float()`, `bool()`, iteration and similar operations, which
would wait for a GPU. `watched_arrays` forbids these as well.

The tests simulate CuPy with a subclass of NumPy's arrays instead. It cannot replace this module,
because NumPy converts such arrays without notice. This module cannot replace it either, because
the CUDA backend needs more than the array standard: output arguments and addresses for kernels.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import array_api_strict as strict
import numpy as np
from array_api_strict._array_object import Array as StrictArray

from gvibench.numerics.base import Array, Evaluate, Memory
from gvibench.numerics.expectations.base import Expectation

__all__ = ["DEVICE", "StrictBackend", "TransferError", "watched_arrays"]

DEVICE = strict.Device("device1")
CPU = strict.Device("CPU_DEVICE")
READS = ("__float__", "__int__", "__bool__", "__index__", "__complex__", "__dlpack__")
"""Methods of an array that copy its values to the host."""


class TransferError(AssertionError):
    """Values were moved between host and device where this is not allowed."""


@contextlib.contextmanager
def watched_arrays(*, may_look: bool = False) -> Iterator[None]:
    """Raise an error on reads of values on the device, unless `may_look` is set.

    Lengths, slices and lists of rows, and iteration over the rows of a matrix read no values. CuPy
    supports them, so they are added here, although the array standard does not have them.
    """
    get = StrictArray.__getitem__

    def rows_of(self: Any) -> Iterator[Any]:
        if self.ndim < 2:
            raise TransferError(f"iteration over the elements of an array on {self.device}")
        return (self[i] for i in range(len(self)))

    def item(self: Any, key: Any) -> Any:
        if isinstance(key, StrictArray):  # the rows of a minibatch
            return strict.take(self, strict.asarray(key, device=self.device), axis=0)
        return get(self, (key, ...) if isinstance(key, slice | int) else key)

    with contextlib.ExitStack() as stack:
        for name in () if may_look else READS:
            stack.enter_context(patch.object(StrictArray, name, _guarded(name)))
        length = patch.object(StrictArray, "__len__", lambda self: self.shape[0], create=True)
        stack.enter_context(length)
        stack.enter_context(patch.object(StrictArray, "__getitem__", item))
        stack.enter_context(patch.object(StrictArray, "__iter__", rows_of))
        yield


def _guarded(name: str) -> Any:
    original = getattr(StrictArray, name)

    def guarded(self: Any, *arguments: Any, **options: Any) -> Any:
        if self.device != CPU:
            raise TransferError(f"{name} of an array on {self.device}")
        return original(self, *arguments, **options)

    return guarded


class Namespace:
    """Functions of NumPy that models and solvers use, implemented with the array standard."""

    def __getattr__(self, name: str) -> Any:
        return getattr(strict, name)

    # As in CuPy, new arrays are on the device, and types are those of NumPy.

    def zeros(self, shape: Any, dtype: Any) -> Array:
        assert dtype == np.float64
        return strict.zeros(shape, dtype=strict.float64, device=DEVICE)

    def empty(self, shape: Any, dtype: Any) -> Array:
        return self.zeros(shape, dtype) * strict.nan

    def ascontiguousarray(self, array: Array) -> Array:
        return array

    def diagonal(self, matrix: Array, axis1: int = 0, axis2: int = 1) -> Array:
        return strict.linalg.diagonal(matrix)

    def sum(self, array: Array, axis: Any = None) -> Array:
        numbers = array if array.dtype != strict.bool else strict.astype(array, strict.int64)
        return strict.sum(numbers, axis=axis)


class StrictBackend:
    """Plain implementations of the operations, for checks on small problems."""

    name = "strict"
    block_bytes = 10 * 4 * 8  # gives several blocks, the last one partly filled
    block_rows = 1
    steps_between_syncs = 1

    def __init__(self) -> None:
        self.xp: Any = Namespace()
        self.dtype: Any = np.dtype(np.float64)
        self.sealed = False

    def asarray(self, values: Any) -> Array:
        if self.sealed:
            raise TransferError("a transfer to the device")
        return strict.asarray(np.array(values, dtype=np.float64), device=DEVICE)

    def to_host(self, values: Array) -> np.ndarray:
        if self.sealed:
            raise TransferError("a transfer to the host")
        host: np.ndarray = values._array
        return host

    def pack(self, values: Sequence[Array]) -> Array:
        return strict.stack([strict.asarray(value) for value in values], axis=-1)

    def times_lower(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        return self._into(out, rows @ lower)

    def times_lower_t(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        return self._into(out, rows @ lower.T)

    def _into(self, out: Array | None, values: Array) -> Array:
        if out is None:
            return values
        out[...] = values
        return out

    def row_norms(self, rows: Array) -> Array:
        return strict.sum(rows * rows, axis=-1)

    def square_sum(self, matrix: Array) -> Array:
        return strict.sum(matrix * matrix, axis=(-2, -1))

    def log_diagonal(self, lower: Array) -> Array:
        diagonal = strict.linalg.diagonal(lower)
        return strict.sum(strict.log(strict.abs(diagonal)), axis=-1)

    def count(self, mask: Array) -> Array:
        return strict.count_nonzero(mask, axis=-1)

    def lower_times_lower(self, left: Array, right: Array) -> Array:
        return strict.tril(left @ right)

    def add_gram(self, total: Array, rows: Array, weights: Array, buffer: Array) -> Array:
        return total + (rows * weights[:, None]).T @ rows

    def identity(self, d: int) -> Array:
        return strict.eye(d, dtype=strict.float64, device=DEVICE)

    def lower(self, matrix: Array) -> Array:
        return strict.tril(matrix)

    def half_lower(self, matrix: Array) -> Array:
        return 0.5 * (strict.tril(matrix) + strict.tril(matrix, k=-1))

    def mirror(self, lower_half: Array) -> Array:
        return strict.tril(lower_half) + strict.tril(lower_half, k=-1).T

    def cholesky(self, matrix: Array, name: str) -> Array:
        return strict.linalg.cholesky(matrix)

    def invert_lower(self, lower: Array) -> Array:
        return strict.linalg.inv(lower)

    def triangularise(self, root: Array) -> Array:
        lower = strict.linalg.qr(root.T)[1].T
        return lower * strict.sign(strict.linalg.diagonal(lower))

    def eigh(self, matrix: Array) -> tuple[Array, Array]:
        values, vectors = strict.linalg.eigh(matrix)
        return values, vectors

    def timer(self) -> Any:
        raise NotImplementedError("the simulated device has no timer")

    def expectation(self, expectation: Expectation) -> Evaluate:
        """Return Gauss-Hermite quadrature by operations on the device. No other is supported."""
        assert expectation.name == "gauss-hermite"
        rule = [(float(node), float(weight)) for node, weight in expectation.table]

        def evaluate(mu: Array, s2: Array, f0: Array, f1: Array, f2: Array) -> None:
            for result in (f0, f1, f2):
                result[...] = 0.0
            for node, weight in rule:
                x = mu + strict.sqrt(s2) * node
                share = 1.0 / (1.0 + strict.exp(-x))
                f0[...] = f0 + weight * strict.logaddexp(x, strict.zeros_like(x))
                f1[...] = f1 + weight * share
                f2[...] = f2 + weight * share * (1.0 - share)

        return evaluate

    def fused_oracle(self, expectation: Expectation, x: Array, y: Array, beta: float) -> None:
        return None

    def memory(self) -> Memory:
        return Memory(0, 0)
