"""Expectations of the piecewise upper bound of phi."""

import numpy as np
from numpy.typing import NDArray

from gvibench.numerics.expectations.base import Expectation
from gvibench.numerics.expectations.pieces import Degree, Pieces, load_or_fit

__all__ = ["Piecewise", "build"]


class Piecewise(Expectation):
    """Expectations of the piecewise bound in closed form. Where s2 = 0, phi itself is used.

    F0 exceeds the exact value by at most the largest distance between phi and the bound. F2 is the
    second derivative of the bound, smoothed by the Gaussian. It can be negative, because the bound
    has jumps and kinks at the knots.
    """

    name = "piecewise"

    def __init__(self, pieces: int, degree: Degree) -> None:
        self.pieces: Pieces = load_or_fit(pieces, degree)
        super().__init__("piecewise", _rows(self.pieces))


def _rows(pieces: Pieces) -> NDArray[np.float64]:
    """Return one row (a, b, c, k, alpha, beta, gamma) per piece.

    The piece is a x^2 + b x + c and ends at k. The next piece minus this one is
    alpha (x - k)^2 + beta (x - k) + gamma. The last piece ends at infinity.
    """
    k = pieces.knots
    alpha, b, c = (np.diff(v) for v in (pieces.a, pieces.b, pieces.c))
    ends = np.column_stack([k, alpha, 2 * alpha * k + b, (alpha * k + b) * k + c])
    ends = np.vstack([ends, [np.inf, 0.0, 0.0, 0.0]])
    return np.column_stack([pieces.a, pieces.b, pieces.c, ends])


def build(*, pieces: int, degree: Degree, nodes: int) -> Piecewise:
    """Return the expectation. It ignores the options of other expectations."""
    return Piecewise(pieces, degree)
