"""Interface between devices and the models and solvers."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np

    from gvibench.numerics.expectations.base import Expectation
    from gvibench.numerics.expectations.compiled.oracle import FusedOracle

__all__ = ["Array", "Backend", "Evaluate", "Memory", "Timer"]

Array = Any
"""Array type of a backend (NumPy or CuPy)."""

Evaluate = Callable[[Array, Array, Array, Array, Array], None]
"""Function that writes the expectations at (mu, s2) into f0, f1 and f2 (`Expectation.evaluate`)."""


class Memory(NamedTuple):
    """Memory of a device, in bytes."""

    used: int
    """Memory in use by this process, or its peak where only the peak is known."""
    total: int
    """Memory of the whole device."""


class Timer(Protocol):
    """Stopwatch for intervals of work, which may still be running when it is stopped."""

    def start(self) -> None:
        """Start an interval."""

    def stop(self) -> None:
        """End the interval."""

    def read(self) -> float:
        """Wait for the work to finish, and return the seconds since the last call."""


class Backend(Protocol):
    """Array namespace and linear algebra of one device, in one floating-point type."""

    name: str
    """Name of the device in traces."""
    xp: Any
    """Array namespace."""
    dtype: Any
    """Floating-point type of all arrays."""
    block_bytes: int
    """Largest size of a block of rows for which a pass over it stays in a large cache."""
    block_rows: int
    """Minimum number of rows in a block. Smaller products lose more time than the cache saves."""
    steps_between_syncs: int
    """Number of steps between reads of a value, each of which waits for the device."""

    def asarray(self, values: Any) -> Array:
        """Move host values to the device in the backend's dtype, row-major."""

    def to_host(self, values: Array) -> "np.ndarray":
        """Copy to host memory as float64."""

    def pack(self, values: Sequence[Array]) -> Array:
        """Combine numbers into one array, or vectors of one length along the last axis."""

    def times_lower(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        """Return `rows @ lower` (TRMM), written to the buffer `out` if there is one."""

    def times_lower_t(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        """Return `rows @ lower.T` (TRMM), written to the buffer `out` if there is one."""

    def row_norms(self, rows: Array) -> Array:
        """Return the squared norm of each row of a matrix, or of a vector."""

    def square_sum(self, matrix: Array) -> Array:
        """Return the sum of the squared elements of a matrix, or of each matrix in a stack."""

    def product_sum(self, first: Array, second: Array) -> Array:
        """Return the sum of the products of the elements of two matrices, or of each pair."""

    def log_diagonal(self, lower: Array) -> Array:
        """Return the sum of log |L_jj| of a triangular matrix, or of each matrix in a stack."""

    def count(self, mask: Array) -> Array:
        """Return the number of true elements of a vector, or of each row of a matrix."""

    def lower_times_lower(self, left: Array, right: Array) -> Array:
        """Return the product of two lower triangular matrices."""

    def add_gram(self, total: Array, rows: Array, weights: Array, buffer: Array) -> Array:
        """Return `total + sum_i weights_i rows_i rows_i'` in the lower triangle (SYRK).

        Weights may be negative. `buffer` is scratch space of the shape of `rows`. It may be `rows`
        itself, which is then overwritten.
        """

    def identity(self, d: int) -> Array:
        """Return the identity matrix. It is shared and must not be changed."""

    def lower(self, matrix: Array) -> Array:
        """Return the lower triangle."""

    def half_lower(self, matrix: Array) -> Array:
        """Return tril½: the strict lower triangle with half the diagonal."""

    def mirror(self, lower_half: Array) -> Array:
        """Return the symmetric matrix whose lower triangle is given."""

    def cholesky(self, matrix: Array, name: str) -> Array:
        """Return the lower Cholesky factor (POTRF).

        If the matrix is not positive definite, `Diverged` is raised with the `name` of the matrix.
        On devices where this check would wait for the device, the result is NaN instead.
        """

    def invert_lower(self, lower: Array) -> Array:
        """Return the inverse of a lower triangular matrix (TRTRI)."""

    def triangularise(self, root: Array) -> Array:
        """Return the lower L with positive diagonal and L L' = root root', by QR."""

    def eigh(self, matrix: Array) -> tuple[Array, Array]:
        """Return eigenvalues (ascending) and eigenvectors of a symmetric matrix."""

    def timer(self) -> Timer:
        """Return a new stopwatch for work on this device."""

    def expectation(self, expectation: "Expectation") -> Evaluate:
        """Return a function that evaluates an expectation for vectors on this device."""

    def fused_oracle(
        self, expectation: "Expectation", x: Array, y: Array, beta: float
    ) -> "FusedOracle | None":
        """Return an object that evaluates the oracle of a logistic model in one call.

        Return None if the device has no such code.
        """

    def memory(self) -> Memory:
        """Return the memory of the device in use, and in total."""
