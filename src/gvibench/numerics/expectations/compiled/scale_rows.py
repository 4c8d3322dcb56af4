"""Scale rows by the square roots of their weights, for weighted Gram matrices."""

from typing import Any

from gvibench.numerics.expectations.compiled.elementary import sqrt
from gvibench.numerics.expectations.compiled.simd import LANES, scale

__all__ = ["scale_rows"]


def scale_rows(n: int, d: int, rows: Any, weights: Any, out: Any) -> None:
    """Write sqrt(|weights_i|) rows_i into `out`, for n rows of d numbers. It may be `rows`."""
    whole = d - d % LANES
    for i in range(n):
        root = sqrt(abs(weights[i]))
        for j in range(i * d, i * d + whole, LANES):
            scale(out, j, root, rows, j)
        for j in range(i * d + whole, (i + 1) * d):
            out[j] = root * rows[j]
