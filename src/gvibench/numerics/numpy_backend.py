"""Backend for the CPU: NumPy arrays with the BLAS and LAPACK of SciPy."""

import functools
import math
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from gvibench.errors import Diverged
from gvibench.numerics.base import Array, Evaluate, Memory
from gvibench.numerics.blas import blas, lapack

if TYPE_CHECKING:
    from gvibench.numerics.expectations.base import Expectation
    from gvibench.numerics.expectations.compiled.oracle import FusedOracle

__all__ = ["NumpyBackend"]

Method = TypeVar("Method", bound=Callable[..., Array])

SMALL = 32
"""Largest matrix for which a plain product is faster than a call that skips half of the work."""


def _map_over_stack(method: Method) -> Method:
    """Extend a method for one matrix to stacks of matrices."""

    @functools.wraps(method)
    def call(self: Any, matrix: Array, *arguments: Any) -> Array:
        if matrix.ndim == 2:
            return method(self, matrix, *arguments)
        return np.stack([method(self, part, *arguments) for part in matrix])

    return cast(Method, call)


class NumpyBackend:
    """Row-major NumPy arrays. BLAS gets their transposes, which are column-major views."""

    name = "cpu"
    xp: Any = np
    block_bytes = 512 * 1024
    block_rows = 256
    steps_between_syncs = 1

    def __init__(self, dtype: str = "float64") -> None:
        self.dtype = np.dtype(dtype)
        self._one = self.dtype.type(1)
        prefix = {"float32": "s", "float64": "d"}[self.dtype.name]
        self._trmm, self._syrk = (getattr(blas(), prefix + name) for name in ("trmm", "syrk"))
        self._potrf, self._trtri, self._geqrf = (
            getattr(lapack(), prefix + name) for name in ("potrf", "trtri", "geqrf")
        )

    def asarray(self, values: Any) -> Array:
        return np.ascontiguousarray(values, dtype=self.dtype)

    def to_host(self, values: Array) -> np.ndarray:
        return np.asarray(values, dtype=np.float64)

    def pack(self, values: Sequence[Array]) -> Array:
        return np.array(values).T

    def times_lower(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        return self._times_triangle(rows, lower, transpose=0, out=out)

    def times_lower_t(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        return self._times_triangle(rows, lower, transpose=1, out=out)

    def row_norms(self, rows: Array) -> Array:
        return np.vecdot(rows, rows)

    # NumPy's functions take longer with an axis than without one.

    def square_sum(self, matrix: Array) -> Array:
        squares = matrix * matrix
        return squares.sum() if matrix.ndim == 2 else squares.sum(axis=(-2, -1))

    def product_sum(self, first: Array, second: Array) -> Array:
        products = first * second
        return products.sum() if products.ndim == 2 else products.sum(axis=(-2, -1))

    def log_diagonal(self, lower: Array) -> Array:
        if lower.ndim == 2:
            return np.log(np.abs(lower.diagonal())).sum()
        return np.log(np.abs(lower.diagonal(axis1=-2, axis2=-1))).sum(axis=-1)

    def count(self, mask: Array) -> Array:
        return np.count_nonzero(mask) if mask.ndim == 1 else np.count_nonzero(mask, axis=-1)

    def lower_times_lower(self, left: Array, right: Array) -> Array:
        if left.shape[-1] <= SMALL:
            return left @ right  # the zeros above the diagonal are exact
        return self.lower(self.times_lower(left, right))

    def _times_triangle(
        self, rows: Array, lower: Array, transpose: int, out: Array | None
    ) -> Array:
        if rows.ndim > 2:  # a stack of small matrices
            return np.ascontiguousarray(rows) @ (lower.mT if transpose else lower)
        # In column-major order `lower` is the upper triangular matrix lower.T and `rows` is rows.T,
        # so the product from the right becomes a product from the left.
        if out is None:
            out = np.empty(rows.shape, self.dtype)
        np.copyto(out, rows)
        self._trmm(1.0, lower.T, out.T, side=0, lower=0, trans_a=transpose, overwrite_b=1)
        return out

    def add_gram(self, total: Array, rows: Array, weights: Array, buffer: Array) -> Array:
        # Weights can be negative, because the piecewise bound has negative curvature near its
        # knots. So sum w zz' is formed as sum |w| zz' minus twice the negative part.
        self._scale_rows(rows, weights, buffer)
        self._syrk(1.0, buffer.T, beta=1.0, c=total.T, lower=0, overwrite_c=1)
        if weights.min(initial=0.0) < 0.0:
            negative = buffer[weights < 0.0]
            self._syrk(-2.0, negative.T, beta=1.0, c=total.T, lower=0, overwrite_c=1)
        return total

    def _scale_rows(self, rows: Array, weights: Array, out: Array) -> None:
        from gvibench.numerics.expectations.compiled.loader import address, load_scale_rows

        rows, weights = self.asarray(rows), self.asarray(weights)
        # The kernel does not check its arguments: a wrong one would overwrite memory.
        if weights.shape != rows.shape[:1]:
            raise ValueError("expected one weight per row")
        if out.shape != rows.shape or out.dtype != self.dtype or not out.flags.carray:
            raise ValueError("expected a result array of the shape and type of the rows")
        scale_rows = load_scale_rows(self.dtype)
        scale_rows(*rows.shape, address(rows), address(weights), address(out))

    def identity(self, d: int) -> Array:
        return _identity(d, self.dtype)

    def lower(self, matrix: Array) -> Array:
        return matrix * _lower_mask(matrix.shape[-1], self.dtype)

    def half_lower(self, matrix: Array) -> Array:
        return matrix * _half_lower_mask(matrix.shape[-1], self.dtype)

    def mirror(self, lower_half: Array) -> Array:
        return np.where(_lower_mask(len(lower_half), np.dtype(bool)), lower_half, lower_half.T)

    @_map_over_stack
    def cholesky(self, matrix: Array, name: str) -> Array:
        upper, info = self._potrf(matrix.T, lower=0, clean=1)
        if info != 0:
            raise Diverged(f"{name} is not positive definite")
        return upper.T

    @_map_over_stack
    def invert_lower(self, lower: Array) -> Array:
        upper, info = self._trtri(lower.T, lower=0)
        if info != 0:
            raise Diverged("a triangular factor is singular")
        return upper.T

    @_map_over_stack
    def triangularise(self, root: Array) -> Array:
        if not math.isfinite(root.sum()):
            raise Diverged("the factor of V is not finite")
        packed = self._geqrf(root.T, lwork=64 * len(root))[0]  # workspace for the blocked algorithm
        lower = self.lower(packed.T)
        lower *= np.copysign(self._one, lower.diagonal())
        return np.ascontiguousarray(lower)

    def eigh(self, matrix: Array) -> tuple[Array, Array]:
        try:
            values, vectors = np.linalg.eigh(matrix)
        except np.linalg.LinAlgError as error:  # usually because of NaN
            raise Diverged("the eigenvalues of a matrix could not be computed") from error
        return values, vectors

    def timer(self) -> "WallTimer":
        return WallTimer()

    def expectation(self, expectation: "Expectation") -> Evaluate:
        return expectation.evaluate

    def fused_oracle(
        self, expectation: "Expectation", x: Array, y: Array, beta: float
    ) -> "FusedOracle | None":
        from gvibench.numerics.expectations.compiled.oracle import fused_oracle

        return fused_oracle(expectation, x, y, beta) if self.dtype == np.float64 else None

    def memory(self) -> Memory:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        unit = 1 if sys.platform == "darwin" else 1024
        return Memory(peak * unit, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


# Cached per size, because for small problems creating them takes longer than using them.


@functools.cache
def _identity(d: int, dtype: np.dtype[Any]) -> Array:
    return _read_only(np.eye(d, dtype=dtype))


@functools.cache
def _lower_mask(d: int, dtype: np.dtype[Any]) -> Array:
    return _read_only(np.tri(d, dtype=dtype))


@functools.cache
def _half_lower_mask(d: int, dtype: np.dtype[Any]) -> Array:
    return _read_only(np.tri(d, dtype=dtype) - 0.5 * np.eye(d, dtype=dtype))


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


class WallTimer:
    """Stopwatch on the monotonic clock. Work on the CPU is finished when a call returns."""

    def __init__(self) -> None:
        self._start = 0.0
        self._elapsed = 0.0

    def start(self) -> None:
        self._start = time.perf_counter()

    def stop(self) -> None:
        self._elapsed += time.perf_counter() - self._start

    def read(self) -> float:
        elapsed, self._elapsed = self._elapsed, 0.0
        return elapsed
