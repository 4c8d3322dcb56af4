"""Compute the oracle of a logistic model with few features in one pass over the rows.

With few features a step is short, and the overhead of Python between small operations would take
most of its time. The kernel takes a block of rows through all operations while the block is in the
L1 cache: predictors, expectations, and the sums of value, gradient and curvature.

The arguments of the kernel are:

- the table of the expectation and the number of its rows;
- n, d, the rows x (n x d) and the labels y;
- beta of the prior;
- the mean, and the lower triangular matrix that is the root C of the covariance or, if
  `transposed`, its transpose;
- `wanted`: one of the constants VALUE, HESSIAN and WHITENED;
- the results: d x d numbers of the curvature, d of the gradient, and the value; or the value alone.
"""

from collections.abc import Callable
from typing import Any

from gvibench.numerics.expectations.compiled.constants import (
    FEW_FEATURES,
    HESSIAN,
    VALUE,
    WHITENED,
)
from gvibench.numerics.expectations.compiled.elementary import BLOCK, jit, stack_array
from gvibench.numerics.expectations.compiled.signed_expectation import with_labels
from gvibench.numerics.expectations.compiled.simd import (
    LANES,
    add_product,
    add_scaled,
    copy,
    lanes,
    sum_of_lanes,
)

__all__ = ["build_oracle"]

_WIDTH = -(-FEW_FEATURES // LANES) * LANES  # rows are padded with zeros

# Separate arrays tell LLVM that they do not overlap.
_features = stack_array(_WIDTH)
_square = stack_array(_WIDTH * _WIDTH)
_rows = stack_array(BLOCK * _WIDTH)
_points = stack_array(BLOCK)


def build_oracle(evaluate: Callable[..., None]) -> Callable[..., None]:
    """Return the oracle of a logistic model whose expectation is `evaluate`."""
    expect_loss = with_labels(evaluate)

    def oracle_few_features(
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
        results: Any,
    ) -> None:
        root, gram, gradient, centre = _square(), _square(), _features(), _features()
        rows, white = _rows(), _rows()
        mu, s2, f0, f1, f2 = _points(), _points(), _points(), _points(), _points()
        chunks = (d + LANES - 1) // LANES
        width = chunks * LANES
        _pad_gaussian(mean, triangle, transposed, d, width, centre, root)
        if wanted != VALUE:
            _start_sums(beta, centre, root, wanted, d, chunks, f2, gradient, gram)
        for j in range(BLOCK * width):
            rows[j] = 0.0
            white[j] = 0.0
        value = 0.0
        for start in range(0, n, BLOCK):
            size = min(BLOCK, n - start)
            for j in range(size):
                for k in range(d):
                    rows[j * width + k] = x[(start + j) * d + k]
            _predict(rows, centre, root, transposed, size, d, chunks, white, mu, s2)
            value += expect_loss(table, table_rows, y, start, size, mu, s2, (f0, f1, f2))
            if wanted != VALUE:
                _add_gradient(gradient, rows, f1, size, chunks)
            if wanted == WHITENED:
                _add_gram(gram, white, f2, size, d, chunks)
            elif wanted == HESSIAN:
                _add_gram(gram, rows, f2, size, d, chunks)
        if wanted == VALUE:
            results[0] = value
        else:
            _write_results(gram, gradient, value, d, width, results)

    return oracle_few_features


@jit
def _pad_gaussian(
    mean: Any, triangle: Any, transposed: int, d: int, width: int, centre: Any, root: Any
) -> None:
    """Copy the mean and the root of the covariance into arrays padded with zeros."""
    for k in range(width):
        centre[k] = mean[k] if k < d else 0.0
    for i in range(_WIDTH * width):
        root[i] = 0.0
    for i in range(d):
        for j in range(i + 1):
            root[j * width + i if transposed else i * width + j] = triangle[i * d + j]


@jit
def _start_sums(
    beta: float,
    centre: Any,
    root: Any,
    wanted: int,
    d: int,
    chunks: int,
    weights: Any,
    gradient: Any,
    gram: Any,
) -> None:
    """Set the gradient and the curvature to those of the prior."""
    width = chunks * LANES
    for k in range(width):
        gradient[k] = beta * centre[k]
    for i in range(_WIDTH * width):
        gram[i] = 0.0
    # The prior equals d more rows, the rows of the identity, each with curvature beta.
    if wanted == WHITENED:
        for i in range(d):
            weights[i] = beta
        _add_gram(gram, root, weights, d, d, chunks)
    else:
        for i in range(d):
            gram[i * width + i] = beta


@jit
def _predict(
    rows: Any,
    mean: Any,
    root: Any,
    transposed: int,
    size: int,
    d: int,
    chunks: int,
    white: Any,
    mu: Any,
    s2: Any,
) -> None:
    """Write the rows times the root, and the mean and variance of each row's predictor."""
    t0, t1, t2, t3, dots, squares = lanes(), lanes(), lanes(), lanes(), lanes(), lanes()
    width = chunks * LANES
    for j in range(0, size, 4):
        row = j * width
        for column in range(0, width, LANES):
            for k in range(LANES):
                t0[k] = 0.0
                t1[k] = 0.0
                t2[k] = 0.0
                t3[k] = 0.0
            # The root is upper triangular if transposed, and lower triangular otherwise.
            first = 0 if transposed else column
            last = min(d, column + LANES) if transposed else d
            for i in range(first, last):
                add_scaled(t0, 0, rows[row + i], root, i * width + column)
                add_scaled(t1, 0, rows[row + width + i], root, i * width + column)
                add_scaled(t2, 0, rows[row + 2 * width + i], root, i * width + column)
                add_scaled(t3, 0, rows[row + 3 * width + i], root, i * width + column)
            copy(white, row + column, t0, 0)
            copy(white, row + width + column, t1, 0)
            copy(white, row + 2 * width + column, t2, 0)
            copy(white, row + 3 * width + column, t3, 0)
    for j in range(size):
        row = j * width
        for k in range(LANES):
            dots[k] = 0.0
            squares[k] = 0.0
        for column in range(0, width, LANES):
            add_product(squares, white, row + column, white, row + column)
            add_product(dots, rows, row + column, mean, column)
        mu[j] = sum_of_lanes(dots)
        s2[j] = sum_of_lanes(squares)


@jit
def _add_gradient(gradient: Any, rows: Any, weights: Any, size: int, chunks: int) -> None:
    """Add the weighted rows to the gradient."""
    width = chunks * LANES
    for j in range(size):
        for column in range(0, width, LANES):
            add_scaled(gradient, column, weights[j], rows, j * width + column)


@jit
def _add_gram(gram: Any, rows: Any, weights: Any, size: int, d: int, chunks: int) -> None:
    """Add weighted outer products of the rows to the lower triangle.

    Whole vectors are added, so some elements above the diagonal are written as well.
    """
    total = lanes()
    width = chunks * LANES
    # Four rows at a time share one load and one store of each sum. Rows after the last one have
    # weight zero. If they are not finite, then an earlier row was not, and nor is the sum.
    for j in range(size, -(-size // 4) * 4):
        weights[j] = 0.0
    for j in range(0, size, 4):
        row = j * width
        for i in range(d):
            w0 = weights[j] * rows[row + i]
            w1 = weights[j + 1] * rows[row + width + i]
            w2 = weights[j + 2] * rows[row + 2 * width + i]
            w3 = weights[j + 3] * rows[row + 3 * width + i]
            for column in range(0, i + 1, LANES):
                copy(total, 0, gram, i * width + column)
                add_scaled(total, 0, w0, rows, row + column)
                add_scaled(total, 0, w1, rows, row + width + column)
                add_scaled(total, 0, w2, rows, row + 2 * width + column)
                add_scaled(total, 0, w3, rows, row + 3 * width + column)
                copy(gram, i * width + column, total, 0)


@jit
def _write_results(
    gram: Any, gradient: Any, value: float, d: int, width: int, results: Any
) -> None:
    """Write the symmetric curvature, the gradient and the value without padding."""
    for i in range(d):
        for j in range(i + 1):
            results[i * d + j] = gram[i * width + j]
            results[j * d + i] = gram[i * width + j]
        results[d * d + i] = gradient[i]
    results[d * d + d] = value
