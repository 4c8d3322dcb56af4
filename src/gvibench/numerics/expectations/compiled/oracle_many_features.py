"""Everything a step needs of the rows, in one call, for many features.

A block of rows goes through all operations while it is in the L2 cache. The products with the root
of the covariance and the Gram matrix are left to a BLAS; what is to be done with the rows before
and after each takes one pass over the block.
"""

from collections.abc import Callable
from typing import Any

import numba

from gvibench.numerics.expectations.compiled.blas_calls import add_gram, times_triangle
from gvibench.numerics.expectations.compiled.elementary import jit, sqrt
from gvibench.numerics.expectations.compiled.oracle import HESSIAN, VALUE, WHITENED
from gvibench.numerics.expectations.compiled.simd import (
    LANES,
    add_product,
    add_scaled,
    copy,
    lanes,
    scale,
    sum_of_lanes,
)

__all__ = ["block"]


def block(evaluate: Callable[..., None]) -> Callable[..., None]:
    """Return the sums over rows of a logistic model whose expectation is `evaluate`.

    Its arguments: table and rows of the expectation; n, d, x (n x d) and y; beta of the prior; the
    mean; the lower triangular matrix that is the root C of the covariance or, if `transposed`, its
    transpose; what is `wanted`; the addresses of DTRMM and DSYRK; how many rows a block has, room
    for a block and five vectors of that length; and where the results go: curvature and gradient,
    which must be zero before, and the value.
    """
    expect = numba.njit(error_model="numpy", forceinline=True)(evaluate)

    def blocked_oracle(
        table: Any,
        table_rows: int,
        n: int,
        d: int,
        x: Any,
        y: Any,
        beta: float,
        mean: Any,
        triangle: Any,
        transposed: int,
        wanted: int,
        trmm: int,
        syrk: int,
        block_rows: int,
        room: Any,
        mu: Any,
        s2: Any,
        f0: Any,
        f1: Any,
        f2: Any,
        gram: Any,
        gradient: Any,
        total: Any,
    ) -> None:
        value = 0.0
        for index in range((n + block_rows - 1) // block_rows):
            start = index * block_rows
            size = min(block_rows, n - start)
            _fetch(x, start * d, mean, size, d, room, mu)
            times_triangle(trmm, transposed, size, d, triangle, room)
            _norms(room, size, d, s2)
            for j in range(size):
                mu[j] *= -y[start + j]
            expect(table, table_rows, size, mu, s2, f0, f1, f2)
            of_block = 0.0
            for j in range(size):
                of_block += f0[j]
                f1[j] *= -y[start + j]
            value += of_block
            if wanted == VALUE:
                continue
            negative = _weigh(x, start * d, f1, f2, wanted, size, d, gradient, room)
            add_gram(syrk, 1.0, 0, size, d, room, gram)
            if negative:
                # A weight may be negative (the piecewise bound has negative curvature near its
                # knots), so sum w zz' is formed as sum |w| zz' minus twice the negative part.
                add_gram(syrk, -2.0, 0, _gather(room, f2, size, d), d, room, gram)
        if wanted == WHITENED:
            add_gram(syrk, beta, transposed, d, d, triangle, gram)
        if wanted != VALUE:
            for i in range(d):
                gradient[i] += beta * mean[i]
                if wanted == HESSIAN:
                    gram[i * d + i] += beta
                for j in range(i):
                    gram[j * d + i] = gram[i * d + j]
        total[0] = value

    return blocked_oracle


@jit
def _fetch(x: Any, first: int, mean: Any, size: int, d: int, rows: Any, mu: Any) -> None:
    """Copy rows, and write their products with the mean."""
    dots = lanes()
    whole = d - d % LANES
    for j in range(size):
        row, source = j * d, first + j * d
        for k in range(LANES):
            dots[k] = 0.0
        for column in range(0, whole, LANES):
            copy(rows, row + column, x, source + column)
            add_product(dots, x, source + column, mean, column)
        product = sum_of_lanes(dots)
        for column in range(whole, d):
            rows[row + column] = x[source + column]
            product += x[source + column] * mean[column]
        mu[j] = product


@jit
def _norms(rows: Any, size: int, d: int, norms: Any) -> None:
    """Write the squared norms of rows."""
    squares = lanes()
    whole = d - d % LANES
    for j in range(size):
        row = j * d
        for k in range(LANES):
            squares[k] = 0.0
        for column in range(row, row + whole, LANES):
            add_product(squares, rows, column, rows, column)
        norm = sum_of_lanes(squares)
        for column in range(row + whole, row + d):
            norm += rows[column] * rows[column]
        norms[j] = norm


@jit
def _weigh(
    x: Any,
    first: int,
    slopes: Any,
    weights: Any,
    wanted: int,
    size: int,
    d: int,
    gradient: Any,
    rows: Any,
) -> int:
    """Add slopes times rows to the gradient; weigh the rows whose Gram matrix is wanted.

    Returns whether a weight is negative.
    """
    whole = d - d % LANES
    negative = 0
    for j in range(size):
        row, source = j * d, first + j * d
        slope, root = slopes[j], sqrt(abs(weights[j]))
        negative |= int(weights[j] < 0.0)
        for column in range(0, whole, LANES):
            add_scaled(gradient, column, slope, x, source + column)
        for column in range(whole, d):
            gradient[column] += slope * x[source + column]
        if wanted == HESSIAN:
            for column in range(0, whole, LANES):
                scale(rows, row + column, root, x, source + column)
            for column in range(whole, d):
                rows[row + column] = root * x[source + column]
        else:
            for column in range(0, whole, LANES):
                scale(rows, row + column, root, rows, row + column)
            for column in range(whole, d):
                rows[row + column] *= root
    return negative


@jit
def _gather(rows: Any, weights: Any, size: int, d: int) -> int:
    """Move the rows of negative weight to the front; return how many there are."""
    count = 0
    for j in range(size):
        if weights[j] < 0.0:
            for column in range(d):
                rows[count * d + column] = rows[j * d + column]
            count += 1
    return count
