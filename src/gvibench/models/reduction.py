"""Problems with more features than rows, solved exactly in the span of the rows.

Choose an orthonormal basis whose first r vectors span the training rows, whose next one points
along what is left of m0, and whose others are arbitrary. The data never touch the others: with
V0 = c I they keep mean zero and one common variance for ever, whatever rotation-invariant solver
runs. One coordinate can therefore stand for all of them, and a solver that knows nothing of this
runs unchanged on r + 2 coordinates. Only the trace, the log-determinant and the gradient's norm
must count the last coordinate as often as it occurs: its `multiplicity`.

In this basis the Cholesky solvers are well defined too, but trace another path than in the basis of
the features; `sr-vn-rotated` is SR-VN run here.
"""

from typing import NamedTuple

import numpy as np

__all__ = ["Reduction", "reduce_problem"]


class Reduction(NamedTuple):
    """A problem in the span of its rows, and the way back."""

    train_x: np.ndarray
    test_x: np.ndarray
    mean: np.ndarray
    basis: np.ndarray
    """Orthonormal columns; the arbitrary directions are not among them."""
    multiplicity: int
    """How many coordinates the last one stands for."""

    def lift(self, means: np.ndarray) -> np.ndarray:
        """Return means, one per row, in the coordinates of the features."""
        return np.asarray(means[..., : self.basis.shape[1]] @ self.basis.T)


def reduce_problem(train_x: np.ndarray, test_x: np.ndarray, mean: np.ndarray) -> Reduction:
    """Rotate rows and initial mean into the span of the training rows."""
    d = train_x.shape[1]
    basis, triangle = np.linalg.qr(train_x.T)
    left_over = mean - basis @ (basis.T @ mean)
    left_over -= basis @ (basis.T @ left_over)  # once more: the first pass loses digits
    norm = np.linalg.norm(left_over)
    count = basis.shape[1]
    if count < d and norm > 0:
        basis = np.column_stack([basis, left_over / norm])
    others = d - basis.shape[1]
    rotated_train = np.zeros((len(train_x), basis.shape[1]))
    rotated_train[:, :count] = triangle.T
    rotated_test = test_x @ basis
    rotated_mean = basis.T @ mean
    if others:
        # A test row has a part in the other directions. They all have mean zero and the same
        # variance, so only the length of that part matters.
        rest = np.linalg.norm(test_x - rotated_test @ basis.T, axis=1)
        rotated_train = np.column_stack([rotated_train, np.zeros(len(train_x))])
        rotated_test = np.column_stack([rotated_test, rest])
        rotated_mean = np.append(rotated_mean, 0.0)
    return Reduction(rotated_train, rotated_test, rotated_mean, basis, max(others, 1))
