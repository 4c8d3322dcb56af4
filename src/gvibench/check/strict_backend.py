"""A backend on a device that refuses every implicit transfer and every look at a value.

`array_api_strict` raises when an array of another device than the CPU meets NumPy or an array of
the CPU. It lets `float()`, `bool()`, iteration and the like through, which on a GPU would wait for
the device: `watched_arrays` closes these.
"""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import array_api_strict as strict
import numpy as np
from array_api_strict._array_object import Array as StrictArray

from gvibench.numerics.base import Array, Evaluate, Memory
from gvibench.numerics.expectations.base import Expectation

__all__ = ["DEVICE", "LookedError", "StrictBackend", "watched_arrays"]

DEVICE = strict.Device("device1")
CPU = strict.Device("CPU_DEVICE")
LOOKS = ("__float__", "__int__", "__bool__", "__index__", "__complex__", "__dlpack__")


class LookedError(AssertionError):
    """A value on the device was needed on the host."""


@contextlib.contextmanager
def watched_arrays(*, may_look: bool = False) -> Iterator[None]:
    """Make whatever would read a value on the device raise, unless the solver may look."""
    # Lengths, slices of the first axis alone and the rows of a matrix, which are views, read
    # nothing: CuPy has them, the standard has not. The elements of a vector are values.
    get = StrictArray.__getitem__

    def rows_of(self: Any) -> Iterator[Any]:
        if self.ndim < 2:
            raise LookedError(f"the elements of an array on {self.device}, one by one")
        return (self[i] for i in range(len(self)))

    def item(self: Any, key: Any) -> Any:
        return get(self, (key, ...) if isinstance(key, slice | int) else key)

    with contextlib.ExitStack() as stack:
        for name in () if may_look else LOOKS:
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
            raise LookedError(f"{name} of an array on {self.device}")
        return original(self, *arguments, **options)

    return guarded


class Namespace:
    """What models and solvers use of NumPy's namespace, by functions of the array standard."""

    def __getattr__(self, name: str) -> Any:
        return getattr(strict, name)

    # Like CuPy's, its new arrays are on the device, and types are NumPy's.

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
        counted = array if array.dtype != strict.bool else strict.astype(array, strict.int64)
        return strict.sum(counted, axis=axis)


class StrictBackend:
    """The same operations in the plainest way: for purity, not for speed."""

    name = "strict"
    block_bytes = 10 * 4 * 8  # several blocks, the last one part-filled
    block_rows = 1
    steps_between_syncs = 1

    def __init__(self) -> None:
        self.xp: Any = Namespace()
        self.dtype: Any = np.dtype(np.float64)
        self.sealed = False

    def asarray(self, values: Any) -> Array:
        if self.sealed:
            raise LookedError("a transfer to the device")
        return strict.asarray(np.array(values, dtype=np.float64), device=DEVICE)

    def to_host(self, values: Array) -> np.ndarray:
        if self.sealed:
            raise LookedError("a transfer to the host")
        found: np.ndarray = values._array
        return found

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
        raise NotImplementedError("nothing is timed on this device")

    def expectation(self, expectation: Expectation) -> Evaluate:
        """Quadrature in operations on the device; any other expectation has no place here."""
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
