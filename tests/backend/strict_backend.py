"""A backend on a device that refuses every implicit transfer and every look at a value.

`array_api_strict` raises when an array of another device than the CPU meets NumPy or an array of
the CPU. It lets `float()`, `bool()`, iteration and the like through, which on a GPU would wait for
the device: `forbid_looking` closes these.
"""

import array_api_strict as strict
import numpy as np
from array_api_strict._array_object import Array

from gvibench.backend.base import Memory

DEVICE = strict.Device("device1")
CPU = strict.Device("CPU_DEVICE")


class LookedError(AssertionError):
    """A value on the device was needed on the host."""


def forbid_looking(monkeypatch):
    """Make whatever would read a value on the device raise."""

    def guard(name):
        original = getattr(Array, name)

        def guarded(self, *arguments, **options):
            if self.device != CPU:
                raise LookedError(f"{name} of an array on {self.device}")
            return original(self, *arguments, **options)

        monkeypatch.setattr(Array, name, guarded)

    for name in ("__float__", "__int__", "__bool__", "__index__", "__complex__", "__dlpack__"):
        guard(name)

    # Lengths, slices of the first axis alone and the rows of a matrix, which are views, read
    # nothing: CuPy has them, the standard has not. The elements of a vector are values.
    get = Array.__getitem__

    def rows_of(self):
        if self.ndim < 2:
            raise LookedError(f"the elements of an array on {self.device}, one by one")
        return (self[i] for i in range(len(self)))

    def item(self, key):
        return get(self, (key, ...) if isinstance(key, slice | int) else key)

    monkeypatch.setattr(Array, "__len__", lambda self: self.shape[0], raising=False)
    monkeypatch.setattr(Array, "__getitem__", item)
    monkeypatch.setattr(Array, "__iter__", rows_of)


class Namespace:
    """What models and solvers use of NumPy's namespace, by functions of the array standard."""

    def __getattr__(self, name):
        return getattr(strict, name)

    # Like CuPy's, its new arrays are on the device, and types are NumPy's.

    def zeros(self, shape, dtype):
        assert dtype == np.float64
        return strict.zeros(shape, dtype=strict.float64, device=DEVICE)

    def empty(self, shape, dtype):
        return self.zeros(shape, dtype) * strict.nan

    def ascontiguousarray(self, array):
        return array

    def diagonal(self, matrix):
        return strict.linalg.diagonal(matrix)

    def diag(self, vector):
        return vector[:, None] * strict.eye(len(vector), dtype=vector.dtype, device=DEVICE)

    def sum(self, array):
        counted = array if array.dtype != strict.bool else strict.astype(array, strict.int64)
        return strict.sum(counted)


class StrictBackend:
    """The same operations in the plainest way: for purity, not for speed."""

    name = "strict"
    block_bytes = 10 * 4 * 8  # several blocks, the last one part-filled

    def __init__(self):
        self.xp = Namespace()
        self.dtype = np.dtype(np.float64)
        self.sealed = False

    def asarray(self, values):
        if self.sealed:
            raise LookedError("a transfer to the device")
        return strict.asarray(np.array(values, dtype=np.float64), device=DEVICE)

    def to_host(self, values):
        if self.sealed:
            raise LookedError("a transfer to the host")
        return values._array

    def times_lower(self, rows, lower, out=None):
        return self._into(out, rows @ lower)

    def times_lower_t(self, rows, lower, out=None):
        return self._into(out, rows @ lower.T)

    def _into(self, out, values):
        if out is None:
            return values
        out[...] = values
        return out

    def row_norms(self, rows):
        return strict.sum(rows * rows, axis=1)

    def solve_lower(self, rows, lower):
        return strict.linalg.solve(lower, rows.T).T

    def solve_lower_t(self, rows, lower):
        return strict.linalg.solve(lower.T, rows.T).T

    def lower_times_lower(self, left, right):
        return strict.tril(left @ right)

    def add_gram(self, total, rows, weights, buffer):
        return total + (rows * weights[:, None]).T @ rows

    def identity(self, d):
        return strict.eye(d, dtype=strict.float64, device=DEVICE)

    def lower(self, matrix):
        return strict.tril(matrix)

    def half_lower(self, matrix):
        return 0.5 * (strict.tril(matrix) + strict.tril(matrix, k=-1))

    def mirror(self, lower_half):
        return strict.tril(lower_half) + strict.tril(lower_half, k=-1).T

    def cholesky(self, matrix, name):
        return strict.linalg.cholesky(matrix)

    def invert_lower(self, lower):
        return strict.linalg.inv(lower)

    def triangularise(self, root):
        lower = strict.linalg.qr(root.T)[1].T
        return lower * strict.sign(strict.linalg.diagonal(lower))

    def eigh(self, matrix):
        return strict.linalg.eigh(matrix)

    def expectation(self, expectation):
        """Quadrature in operations on the device; any other expectation has no place here."""
        assert expectation.name == "gauss-hermite"
        rule = [(float(node), float(weight)) for node, weight in expectation.table]

        def evaluate(mu, s2, f0, f1, f2):
            for result in (f0, f1, f2):
                result[...] = 0.0
            for node, weight in rule:
                x = mu + strict.sqrt(s2) * node
                share = 1.0 / (1.0 + strict.exp(-x))
                f0[...] = f0 + weight * strict.logaddexp(x, strict.zeros_like(x))
                f1[...] = f1 + weight * share
                f2[...] = f2 + weight * share * (1.0 - share)

        return evaluate

    def fused_oracle(self, expectation, x, y, beta):
        return None

    def memory(self):
        return Memory(0, 0)
