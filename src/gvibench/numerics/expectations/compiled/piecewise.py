"""Compute Gaussian expectations of a piecewise parabola in closed form.

Let i be the piece that contains mu. Then the bound is p_i plus, beyond each knot k away from mu,
the difference of the two pieces at the knot, gamma + beta (x - k) + alpha (x - k)^2. The Gaussian
moments of these differences over the tail beyond the knot are, with w = |k - mu|, z = w / s,
density n = N(z; 0, 1) and tail mass q = 1 - Phi(z),

    T0 = q,    T1 = s d,    T2 = s^2 (q - z d),    d = n - z q,

and shrink as fast as the tail, so no large numbers cancel. With sigma = 1 for knots on the right of
mu and -1 on the left,

    F0 = p_i(mu) + a_i s^2 + sum_k  sigma gamma T0 + beta T1 + sigma alpha T2
    F1 = p_i'(mu)          + sum_k  gamma n / s + sigma beta T0 + 2 alpha T1
    F2 = p_i''(mu)         + sum_k  sigma gamma z n / s^2 + beta n / s + 2 sigma alpha T0

F1 and F2 are the derivatives of F0 by mu. The terms with n are the jumps of the bound and of its
slope at the knots. They can make F2 negative.
"""

import math
from typing import Any

from gvibench.numerics.expectations.compiled.elementary import (
    BLOCK,
    TAIL_END,
    exp_nonpositive,
    fma,
    jit,
    mills_ratio,
    softplus_at,
    sqrt,
    stack_array,
)

__all__ = ["evaluate"]

WIDE = 2e3
"""Standard deviation beyond which the asymptotic expansion is more accurate than the sum."""

_INV_SQRT_2PI = 1 / math.sqrt(2 * math.pi)

# Columns of the table.
_A, _B, _C, _KNOT, _ALPHA, _BETA, _GAMMA = range(7)
_COLUMNS = 7

# Offsets of the quantities of a block of points in the array `work`.
_MU, _S, _INV_S, _PIECE, _F0, _F1, _F2 = (row * BLOCK for row in range(7))
_work = stack_array(7 * BLOCK)


def evaluate(table: Any, pieces: int, n: int, mu: Any, s2: Any, f0: Any, f1: Any, f2: Any) -> None:
    """Write F0, F1 and F2 at `n` points."""
    work = _work()
    spread = _spread(table, pieces)
    # The last block is padded to full size, so that the same code computes all points.
    for j in range(2 * BLOCK):
        work[j] = 1.0
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        for j in range(size):
            work[_MU + j] = mu[start + j]
            work[_S + j] = sqrt(s2[start + j])
        for j in range(BLOCK):
            work[_INV_S + j] = 1.0 / work[_S + j]
            work[_PIECE + j] = 0.0
            work[_F0 + j] = 0.0
            work[_F1 + j] = 0.0
            work[_F2 + j] = 0.0
        for i in range(pieces - 1):
            row = i * _COLUMNS
            _add_knot(
                work,
                table[row + _KNOT],
                table[row + _ALPHA],
                table[row + _BETA],
                table[row + _GAMMA],
            )
        for j in range(size):
            m = work[_MU + j]
            variance = float(s2[start + j])
            if not (math.isfinite(m) and math.isfinite(variance) and variance >= 0.0):
                f0[start + j] = math.nan
                f1[start + j] = math.nan
                f2[start + j] = math.nan
            elif variance == 0.0:
                f0[start + j], f1[start + j], f2[start + j] = softplus_at(m)
            elif work[_S + j] > WIDE:
                f0[start + j], f1[start + j], f2[start + j] = _wide(m, work[_S + j], spread)
                f0[start + j] += table[_C]
            else:
                row = int(work[_PIECE + j]) * _COLUMNS
                a, b, c = table[row + _A], table[row + _B], table[row + _C]
                f0[start + j] = (a * m + b) * m + c + a * variance + work[_F0 + j]
                f1[start + j] = 2.0 * a * m + b + work[_F1 + j]
                f2[start + j] = 2.0 * a + work[_F2 + j]


@jit
def _spread(table: Any, pieces: int) -> float:
    """Return the integral of x^2 p''(x), where p'' includes the kinks and jumps of p."""
    total = 0.0
    for i in range(pieces - 1):
        row = i * _COLUMNS
        k, alpha = table[row + _KNOT], table[row + _ALPHA]
        total += ((table[row + _BETA] - 2 / 3 * alpha * k) * k - 2 * table[row + _GAMMA]) * k
    return total


@jit
def _wide(m: float, s: float, spread: float) -> tuple[float, float, float]:
    """Return the expectations for a large s, without the constant of the first piece.

    On the scale of s, p is max(x, 0) plus a constant, and p'' is a point mass at zero. The next
    term of the expansion in 1/s is the spread of p'' around zero. Later terms are below 1e-13 s.
    """
    z = min(abs(m) / s, TAIL_END)
    n = exp_nonpositive(-0.5 * z * z) * _INV_SQRT_2PI if z < TAIL_END else 0.0
    q = n * mills_ratio(z)
    correction = 0.5 * spread * n / s
    beyond = q + correction * z / s  # F1 for m < 0
    return (
        max(m, 0.0) + s * (n - z * q) + correction,
        1.0 - beyond if m > 0.0 else beyond,
        (n + correction * (z * z - 1.0) / s) / s,
    )


@jit
def _add_knot(work: Any, knot: float, alpha: float, beta: float, gamma: float) -> None:
    """Add the terms of one knot to the sums of a block of points."""
    for j in range(BLOCK):
        s = work[_S + j]
        inv_s = work[_INV_S + j]
        distance = (knot - work[_MU + j]) * inv_s
        on_left = 1.0 if distance < 0.0 else 0.0
        sigma = 1.0 - 2.0 * on_left
        z = min(abs(distance), TAIL_END)
        n = exp_nonpositive(-0.5 * z * z) * _INV_SQRT_2PI
        n = 0.0 if abs(distance) > TAIL_END else n
        q = n * mills_ratio(z)
        n_per_s = n * inv_s
        t1 = s * fma(-z, q, n)
        t2 = s * fma(-z, t1, s * q)
        work[_PIECE + j] += on_left
        work[_F0 + j] += fma(sigma, fma(gamma, q, alpha * t2), beta * t1)
        work[_F1 + j] += fma(2.0 * alpha, t1, fma(gamma, n_per_s, sigma * beta * q))
        work[_F2 + j] += fma(
            sigma, fma(gamma * z * n_per_s, inv_s, 2.0 * alpha * q), beta * n_per_s
        )
