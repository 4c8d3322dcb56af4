"""Compute the oracle of a logistic model with many features in one call.

The kernel takes a block of rows through all operations while the block is in the L2 cache. A BLAS
computes the products with the root of the covariance and the Gram matrix. The operations before
and after each of these calls take one pass over the block.

The arguments of the kernel are:

- the table of the expectation and the number of its rows;
- n, d, the rows x (n x d) and the labels y;
- beta of the prior;
- the mean, and the lower triangular matrix that is the root C of the covariance or, if
  `transposed`, its transpose;
- `wanted`: one of the constants VALUE, HESSIAN and WHITENED;
- the addresses of DTRMM and DSYRK;
- the number of rows of a block, and a workspace of that many times d + 5 numbers;
- the results: the curvature (d x d), and d numbers of the gradient followed by the value. The
  curvature and the gradient must be zero on entry. They are not used if only the value is wanted.
"""

from collections.abc import Callable
from typing import Any

from gvibench.numerics.expectations.compiled.blas_calls import add_gram, times_triangle
from gvibench.numerics.expectations.compiled.constants import HESSIAN, VALUE, WHITENED
from gvibench.numerics.expectations.compiled.elementary import jit, offset, sqrt
from gvibench.numerics.expectations.compiled.signed_expectation import with_labels
from gvibench.numerics.expectations.compiled.simd import (
    LANES,
    add_product,
    add_scaled,
    copy,
    lanes,
    scale,
    sum_of_lanes,
)

__all__ = ["build_oracle"]


def build_oracle(evaluate: Callable[..., None]) -> Callable[..., None]:
    """Return the oracle of a logistic model whose expectation is `evaluate`."""
    expect_loss = with_labels(evaluate)

    def oracle_many_features(
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
        workspace: Any,
        gram: Any,
        sums: Any,
    ) -> None:
        rows, mu = workspace, offset(workspace, block_rows * d)
        s2, f0 = offset(mu, block_rows), offset(mu, 2 * block_rows)
        f1, f2 = offset(mu, 3 * block_rows), offset(mu, 4 * block_rows)
        value = 0.0
        for index in range((n + block_rows - 1) // block_rows):
            start = index * block_rows
            size = min(block_rows, n - start)
            _copy_rows(x, start * d, mean, size, d, rows, mu)
            times_triangle(trmm, transposed, size, d, triangle, rows)
            _square_norms(rows, size, d, s2)
            value += expect_loss(table, table_rows, y, start, size, mu, s2, (f0, f1, f2))
            if wanted != VALUE:
                negative = _add_gradient(x, start * d, f1, f2, wanted, size, d, sums, rows)
                _add_curvature(syrk, negative, f2, size, d, rows, gram)
        if wanted != VALUE:
            _add_prior(syrk, beta, mean, triangle, transposed, wanted, d, sums, gram)
        sums[d] = value

    return oracle_many_features


@jit
def _add_curvature(
    syrk: int, negative: int, weights: Any, size: int, d: int, rows: Any, gram: Any
) -> None:
    """Add the Gram matrix of scaled rows, with the signs of their weights."""
    add_gram(syrk, 1.0, 0, size, d, rows, gram)
    if negative:
        # Weights can be negative, because the piecewise bound has negative curvature near its
        # knots. So sum w zz' is formed as sum |w| zz' minus twice the negative part.
        add_gram(syrk, -2.0, 0, _gather_negative(rows, weights, size, d), d, rows, gram)


@jit
def _add_prior(
    syrk: int,
    beta: float,
    mean: Any,
    triangle: Any,
    transposed: int,
    wanted: int,
    d: int,
    gradient: Any,
    gram: Any,
) -> None:
    """Add the prior to the gradient and the curvature, and fill the upper triangle."""
    if wanted == WHITENED:
        add_gram(syrk, beta, transposed, d, d, triangle, gram)
    for i in range(d):
        gradient[i] += beta * mean[i]
        if wanted == HESSIAN:
            gram[i * d + i] += beta
        for j in range(i):
            gram[j * d + i] = gram[i * d + j]


@jit
def _copy_rows(x: Any, first: int, mean: Any, size: int, d: int, rows: Any, mu: Any) -> None:
    """Copy the rows, and write their products with the mean."""
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
def _square_norms(rows: Any, size: int, d: int, norms: Any) -> None:
    """Write the squared norm of each row."""
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
def _add_gradient(
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
    """Add slopes times rows to the gradient, and scale the rows whose Gram matrix is wanted.

    These are the rows of `x` for the Hessian, and the whitened `rows` otherwise. The return value
    is 1 if any weight is negative, and 0 otherwise.
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
def _gather_negative(rows: Any, weights: Any, size: int, d: int) -> int:
    """Move the rows of negative weight to the front, and return their number."""
    count = 0
    for j in range(size):
        if weights[j] < 0.0:
            for column in range(d):
                rows[count * d + column] = rows[j * d + column]
            count += 1
    return count
