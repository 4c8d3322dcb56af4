"""Represent a covariance V by a factor of V or by a factor of the precision V^{-1}.

Both classes implement the same interface. `C` below is any root with C C' = V. No result depends on
the choice of the root.

A factor can represent a stack of covariances, one for each run of a lockstep group. Its matrices,
vectors and numbers then have the runs along their first axis. `inner`, `last_variance`,
`covariance_lower` and `whiten` of rows support only single covariances.
"""

from typing import Any, ClassVar, Protocol

from gvibench.numerics.base import Array, Backend

__all__ = ["CovarianceFactor", "Factor", "PrecisionFactor", "diagonal", "times"]


class Factor(Protocol):
    """Covariance V, represented by a lower triangular factor."""

    backend: Backend
    lower: Array
    transposed: ClassVar[bool]
    """Whether the root C is the transpose of `triangle`. Otherwise C is `triangle` itself."""

    def __init__(self, backend: Backend, lower: Array) -> None: ...

    @property
    def triangle(self) -> Array:
        """The lower triangular matrix that is the root or its transpose."""

    def whiten(self, rows: Array, out: Array | None = None) -> Array:
        """Return `rows @ C`, whose squared row norms are the variances `x' V x`."""

    def root(self) -> Array:
        """Return `C`."""

    def inverse_root_transposed(self) -> Array:
        """Return the transpose of the inverse of `C`."""

    def whiten_transposed(self, rows: Array) -> Array:
        """Return `rows @ C.T`, which turns draws from N(0, I) into draws from N(0, V)."""

    def times_inverse_root(self, matrix: Array) -> Array:
        """Return `matrix` times the inverse of `C`."""

    def covariance_times(self, vector: Array) -> Array:
        """Return `V @ vector`."""

    def norm_of(self, vector: Array) -> Array:
        """Return `vector' V vector`."""

    def congruence(self, matrix: Array) -> Array:
        """Return `C' @ matrix @ C` for a symmetric matrix."""

    def trace_with(self, matrix: Array) -> Array:
        """Return `tr(matrix @ V)` for a symmetric matrix."""

    def inner(self) -> Array:
        """Return `C' @ C`."""

    def variances_total(self) -> Array:
        """Return `tr V`."""

    def log_det(self) -> Array:
        """Return `log det V`."""

    def last_variance(self) -> Array:
        """Return the variance of the last coordinate if it is independent of the others."""

    def covariance_lower(self) -> Array:
        """Return the lower triangular root of V with positive diagonal."""

    def part(self, index: int) -> "Factor":
        """Return the factor at `index` of a stack."""


class CovarianceFactor:
    """Covariance V = L L'."""

    transposed: ClassVar[bool] = False

    def __init__(self, backend: Backend, lower: Array) -> None:
        self.backend = backend
        self.lower = self.triangle = lower
        self._log_det: Array | None = None

    def whiten(self, rows: Array, out: Array | None = None) -> Array:
        return self.backend.times_lower(rows, self.lower, out)

    def root(self) -> Array:
        return self.lower

    def inverse_root_transposed(self) -> Array:
        return self.backend.invert_lower(self.lower).mT

    def whiten_transposed(self, rows: Array) -> Array:
        return self.backend.times_lower_t(rows, self.lower)

    def times_inverse_root(self, matrix: Array) -> Array:
        return self.backend.times_lower(matrix, self.backend.invert_lower(self.lower))

    def covariance_times(self, vector: Array) -> Array:
        return times(self.lower, times(self.lower.mT, vector))

    def norm_of(self, vector: Array) -> Array:
        return self.backend.row_norms(times(self.lower.mT, vector))

    def congruence(self, matrix: Array) -> Array:
        half = self.backend.times_lower(matrix, self.lower)
        return self.backend.times_lower(half.mT, self.lower)

    def trace_with(self, matrix: Array) -> Array:
        half = self.backend.times_lower(matrix, self.lower)
        return self.backend.product_sum(half, self.lower)

    def inner(self) -> Array:
        return self.lower.T @ self.lower

    def variances_total(self) -> Array:
        return self.backend.square_sum(self.lower)

    def log_det(self) -> Array:
        if self._log_det is None:
            # A square-root step may flip the sign of a column, which does not change V.
            self._log_det = 2.0 * self.backend.log_diagonal(self.lower)
        return self._log_det

    def last_variance(self) -> Array:
        return self.lower[-1, -1] ** 2

    def covariance_lower(self) -> Array:
        xp = self.backend.xp
        return self.lower * xp.where(xp.diagonal(self.lower) < 0, -1.0, 1.0)

    def part(self, index: int) -> "CovarianceFactor":
        return CovarianceFactor(self.backend, self.lower[index])


class PrecisionFactor:
    """Covariance V = (L L')^{-1} with the root C = L^{-T}.

    The triangular L is inverted once, because products with the inverse are several times faster
    than triangular solves with one right-hand side per row.
    """

    transposed: ClassVar[bool] = True

    def __init__(self, backend: Backend, lower: Array) -> None:
        self.backend = backend
        self.lower = lower
        self._triangle: Array | None = None
        self._log_det: Array | None = None

    @property
    def triangle(self) -> Array:
        """The lower triangular matrix L^{-1}, which is the transpose of the root."""
        if self._triangle is None:  # `cached_property` takes longer, because it locks
            self._triangle = self.backend.invert_lower(self.lower)
        return self._triangle

    def whiten(self, rows: Array, out: Array | None = None) -> Array:
        return self.backend.times_lower_t(rows, self.triangle, out)

    def root(self) -> Array:
        return self.triangle.mT

    def inverse_root_transposed(self) -> Array:
        return self.lower

    def whiten_transposed(self, rows: Array) -> Array:
        return self.backend.times_lower(rows, self.triangle)

    def times_inverse_root(self, matrix: Array) -> Array:
        return self.backend.times_lower_t(matrix, self.lower)

    def covariance_times(self, vector: Array) -> Array:
        return times(self.triangle.mT, times(self.triangle, vector))

    def norm_of(self, vector: Array) -> Array:
        return self.backend.row_norms(times(self.triangle, vector))

    def congruence(self, matrix: Array) -> Array:
        half = self.whiten(matrix)
        return self.whiten(half.mT)

    def trace_with(self, matrix: Array) -> Array:
        half = self.whiten(matrix)
        return self.backend.product_sum(half, self.triangle.mT)

    def inner(self) -> Array:
        return self.triangle @ self.triangle.T

    def variances_total(self) -> Array:
        return self.backend.square_sum(self.triangle)

    def log_det(self) -> Array:
        if self._log_det is None:
            self._log_det = -2.0 * self.backend.log_diagonal(self.lower)
        return self._log_det

    def last_variance(self) -> Array:
        return self.lower[-1, -1] ** -2.0

    def covariance_lower(self) -> Array:
        return self.backend.triangularise(self.backend.xp.ascontiguousarray(self.triangle.T))

    def part(self, index: int) -> "PrecisionFactor":
        factor = PrecisionFactor(self.backend, self.lower[index])
        factor._triangle = self.triangle[index]
        return factor


def diagonal(xp: Any, matrix: Array) -> Array:
    """Return the diagonal of a matrix, or of each matrix in a stack."""
    return xp.diagonal(matrix, axis1=-2, axis2=-1)


def times(matrix: Array, vector: Array) -> Array:
    """Return `matrix @ vector`, or the product of each pair in two stacks."""
    return matrix @ vector if vector.ndim == 1 else (matrix @ vector[..., None])[..., 0]
