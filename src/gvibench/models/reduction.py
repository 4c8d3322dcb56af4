"""Reduce problems with more features than rows to the span of the rows, without approximation.

Choose an orthonormal basis as follows. The first r vectors span the training rows. The next vector
is the direction of the remaining part of the initial mean m0. All others are arbitrary. The data
have no component in these other directions. If V0 = c I, any rotation-invariant solver keeps their
mean at zero and their variances equal. One coordinate can therefore represent all of them, and
solvers run unchanged on r + 2 coordinates. Only the trace, the log-determinant and the gradient
norm must count the last coordinate several times. This number is its `multiplicity`.

Cholesky solvers are well defined in this basis, too, but follow a different path than in the
feature basis. The solver `sr-vn-rotated` is SR-VN in this basis.
"""

from typing import NamedTuple

import numpy as np

__all__ = ["Reduction", "reduce_problem"]


class Reduction(NamedTuple):
    """Problem in the span of its rows, and the map back to the features."""

    train_x: np.ndarray
    test_x: np.ndarray
    mean: np.ndarray
    basis: np.ndarray
    """Orthonormal columns, without the arbitrary directions."""
    multiplicity: int
    """Number of coordinates that the last one represents."""

    def lift(self, means: np.ndarray) -> np.ndarray:
        """Return means, one per row, in the feature basis."""
        return np.asarray(means[..., : self.basis.shape[1]] @ self.basis.T)


def reduce_problem(train_x: np.ndarray, test_x: np.ndarray, mean: np.ndarray) -> Reduction:
    """Rotate the rows and the initial mean into the span of the training rows."""
    d = train_x.shape[1]
    basis, triangle = np.linalg.qr(train_x.T)
    remainder = mean - basis @ (basis.T @ mean)
    remainder -= basis @ (basis.T @ remainder)  # repeat it, because the first pass loses digits
    norm = np.linalg.norm(remainder)
    count = basis.shape[1]
    if count < d and norm > 0:
        basis = np.column_stack([basis, remainder / norm])
    others = d - basis.shape[1]
    rotated_train = np.zeros((len(train_x), basis.shape[1]))
    rotated_train[:, :count] = triangle.T
    rotated_test = test_x @ basis
    rotated_mean = basis.T @ mean
    if others:
        # A test row may have a component in the other directions. All of them have mean zero and
        # the same variance, so only the length of this component matters.
        rest = np.linalg.norm(test_x - rotated_test @ basis.T, axis=1)
        rotated_train = np.column_stack([rotated_train, np.zeros(len(train_x))])
        rotated_test = np.column_stack([rotated_test, rest])
        rotated_mean = np.append(rotated_mean, 0.0)
    return Reduction(rotated_train, rotated_test, rotated_mean, basis, max(others, 1))
