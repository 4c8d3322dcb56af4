"""Change the coordinates of a problem by a random linear map, which leaves the problem the same.

With theta = T eta, the rows become X T, a prior N(mu0, Lam^{-1}) has the mean T^{-1} mu0 and the
precision T' Lam T, and a Gaussian N(m, C C') becomes N(T^{-1} m, T^{-1} C C' T^{-T}). T has
determinant 1 or -1, so that all objectives keep their values. Solvers that are affine equivariant
take the same path in all coordinates.
"""

from typing import NamedTuple

from gvibench.numerics.base import Array
from gvibench.spec.run import ProblemSpec

__all__ = ["Basis", "basis_of"]

SEED = 2026
"""Seed of the map, which otherwise depends only on the dimension and the condition number."""


class Basis(NamedTuple):
    """Linear map from new coordinates to features, theta = T eta."""

    map: Array
    """T."""
    inverse: Array
    """T^{-1}."""

    def rows(self, x: Array) -> Array:
        """Return rows in the new coordinates."""
        return x @ self.map

    def mean(self, mean: Array) -> Array:
        """Return a mean in the new coordinates."""
        return self.inverse @ mean

    def precision(self, matrix: Array) -> Array:
        """Return a precision matrix in the new coordinates."""
        product = self.map.T @ matrix @ self.map
        return 0.5 * (product + product.T)

    def factor(self, lower: Array) -> Array:
        """Return the lower triangular factor, with positive diagonal, of V in the new coordinates.

        `lower` is a factor of V in the features.
        """
        import numpy as np

        upper = np.linalg.qr((self.inverse @ lower).T, mode="r")
        return np.tril((upper * np.sign(np.diag(upper))[:, None]).T)


def basis_of(spec: ProblemSpec, d: int) -> Basis | None:
    """Return the coordinates of a problem with d features, or None if they are the features."""
    if spec.basis_condition == 1 or d == 1:
        return None
    import numpy as np  # imported here, because planning loads models without NumPy

    rng = np.random.default_rng([SEED, d])
    left, right = _rotation(rng, d), _rotation(rng, d)
    scales = np.geomspace(spec.basis_condition**-0.5, spec.basis_condition**0.5, d)
    return Basis((left * scales) @ right.T, (right / scales) @ left.T)


def _rotation(rng: Array, d: int) -> Array:
    import numpy as np

    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    # LAPACK does not define the signs of the diagonal of R. With positive signs, Q is unique.
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))
