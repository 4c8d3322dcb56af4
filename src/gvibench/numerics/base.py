"""What a device must offer to models and solvers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from gvibench.numerics.expectations.base import Expectation
    from gvibench.numerics.expectations.compiled.oracle import FusedOracle

__all__ = ["Array", "Backend", "Evaluate", "Memory", "Timer"]

Array = Any
"""An array of the backend's own kind (NumPy or CuPy)."""

Evaluate = Callable[[Array, Array, Array, Array, Array], None]
"""Writes the expectations at (mu, s2) into f0, f1 and f2, as `Expectation.evaluate` does."""


class Memory(NamedTuple):
    """Bytes of the device's memory."""

    used: int
    """What this process holds, or has held at most where only that is known."""
    total: int


class Timer(Protocol):
    """A stopwatch for pieces of work, which may still be under way when it is stopped."""

    def start(self) -> None:
        """Start counting."""

    def stop(self) -> None:
        """Stop counting."""

    def read(self) -> float:
        """Return the seconds counted since the last reading, once all of the work is finished."""


class Backend(Protocol):
    """Array namespace and linear algebra of one device, in one floating-point type."""

    name: str
    xp: Any
    dtype: Any
    block_bytes: int
    """How large a block of rows may be so that a pass over it stays in the nearest big cache."""
    block_rows: int
    """How many rows it has at least: products with fewer lose more than the cache wins."""
    steps_between_syncs: int
    """How many steps a run may take before it looks at a value, which waits for the device."""

    def asarray(self, values: Any) -> Array:
        """Move host values to the device in the backend's dtype, row-major."""

    def to_host(self, values: Array) -> np.ndarray:
        """Copy to host memory as float64."""

    def times_lower(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        """Return `rows @ lower` (TRMM); `out` may be a buffer of the shape of `rows`."""

    def times_lower_t(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        """Return `rows @ lower.T` (TRMM); `out` may be a buffer of the shape of `rows`."""

    def row_norms(self, rows: Array) -> Array:
        """Return the squared norm of each row, or of a vector."""

    def lower_times_lower(self, left: Array, right: Array) -> Array:
        """Return the product of two lower triangular matrices, lower triangular itself."""

    def add_gram(self, total: Array, rows: Array, weights: Array, buffer: Array) -> Array:
        """Return `total + sum_i weights_i rows_i rows_i'` in the lower triangle (SYRK).

        Weights of either sign are honoured. `buffer` is scratch of the shape of `rows` and may be
        `rows` itself, which is then lost.
        """

    def identity(self, d: int) -> Array:
        """Return the identity matrix, which must not be written to."""

    def lower(self, matrix: Array) -> Array:
        """Return the lower triangle."""

    def half_lower(self, matrix: Array) -> Array:
        """Return tril½: the strict lower triangle with half the diagonal."""

    def mirror(self, lower_half: Array) -> Array:
        """Return the symmetric matrix whose lower triangle is given."""

    def cholesky(self, matrix: Array, name: str) -> Array:
        """Return the lower Cholesky factor (POTRF).

        Without one, `Diverged` is raised, naming the matrix; or, where finding out would mean to
        wait for the device, the result is NaN.
        """

    def invert_lower(self, lower: Array) -> Array:
        """Return the inverse of a lower triangular matrix (TRTRI)."""

    def triangularise(self, root: Array) -> Array:
        """Return the lower L with positive diagonal and L L' = root root', by QR."""

    def eigh(self, matrix: Array) -> tuple[Array, Array]:
        """Return eigenvalues (ascending) and eigenvectors of a symmetric matrix."""

    def timer(self) -> Timer:
        """Return a stopwatch for work on this device."""

    def expectation(self, expectation: "Expectation") -> Evaluate:
        """Return what computes an expectation for vectors on this device."""

    def fused_oracle(
        self, expectation: "Expectation", x: Array, y: Array, beta: float
    ) -> "FusedOracle | None":
        """Return a logistic model's oracle in one call, if the device has it."""

    def memory(self) -> Memory:
        """Return how much memory the run uses."""
