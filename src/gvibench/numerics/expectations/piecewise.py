"""Expectations of the piecewise upper bound of phi."""

import numpy as np
from numpy.typing import NDArray

from gvibench.numerics.expectations.base import Expectation
from gvibench.numerics.expectations.pieces import Degree, Pieces, load_or_fit

__all__ = ["Piecewise", "build"]


class Piecewise(Expectation):
    """Expectations of the piecewise bound in closed form; phi itself where s2 = 0.

    F0 exceeds the exact one by at most `pieces.max_error`. The bound has jumps and kinks at the
    knots, so F2, its second derivative smoothed by the Gaussian, can be negative.
    """

    name = "piecewise"

    def __init__(self, pieces: int, degree: Degree) -> None:
        self.pieces: Pieces = load_or_fit(pieces, degree)
        super().__init__("piecewise", _rows(self.pieces))


def _rows(pieces: Pieces) -> NDArray[np.float64]:
    """Return a row for each piece: its polynomial, its right end, and the next piece minus it.

    The row is (a, b, c, k, alpha, beta, gamma), the difference being
    alpha (x - k)^2 + beta (x - k) + gamma. The last piece ends at infinity.
    """
    k = pieces.knots
    alpha, b, c = (np.diff(v) for v in (pieces.a, pieces.b, pieces.c))
    ends = np.column_stack([k, alpha, 2 * alpha * k + b, (alpha * k + b) * k + c])
    ends = np.vstack([ends, [np.inf, 0.0, 0.0, 0.0]])
    return np.column_stack([pieces.a, pieces.b, pieces.c, ends])


def build(*, pieces: int, degree: Degree, nodes: int) -> Piecewise:
    """Return the expectation; what it has no use for is ignored."""
    return Piecewise(pieces, degree)
