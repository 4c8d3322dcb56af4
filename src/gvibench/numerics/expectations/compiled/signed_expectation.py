"""Expectations of the loss of labelled rows."""

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["with_labels"]


def with_labels(evaluate: Callable[..., None]) -> Any:
    """Return a function for kernels that evaluates an expectation of phi(-y t) at a block of rows.

    On entry, `mu` and `s2` are the means and variances of the predictors t. On return, `f1` and
    `f2` are the expected derivatives by t. The sum of the expected losses is returned.
    """
    expect = numba.njit(error_model="numpy", forceinline=True)(evaluate)

    def expect_loss(
        table: Any, table_rows: int, y: Any, start: int, size: int, mu: Any, s2: Any, f: Any
    ) -> float:
        f0, f1, f2 = f
        for j in range(size):
            mu[j] *= -y[start + j]
        expect(table, table_rows, size, mu, s2, f0, f1, f2)
        total = 0.0
        for j in range(size):
            total += f0[j]
            f1[j] *= -y[start + j]
        return total

    return numba.njit(error_model="numpy", forceinline=True)(expect_loss)
