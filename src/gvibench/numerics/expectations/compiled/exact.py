"""Evaluate the table of `gvibench.numerics.expectations.exact_table`.

A block of points goes through all steps together, so that LLVM vectorises each step except the
look-up. The steps find the patches and local variables of the points, reduce the polynomials of the
patches to polynomials in t alone, and evaluate these with their derivatives.
"""

import math
from typing import Any

from gvibench.numerics.expectations.compiled.elementary import (
    BLOCK,
    fma,
    jit,
    softplus_at,
    sqrt,
    stack_array,
)
from gvibench.numerics.expectations.compiled.simd import LANES, copy, lanes, multiply_add
from gvibench.numerics.expectations.exact_table import (
    DEGREE_Q,
    DEGREE_T,
    PATCHES_Q,
    PATCHES_T,
    T_END,
    C,
)

__all__ = ["evaluate"]

_PER_T = PATCHES_T / T_END
_PER_SLOPE = 2 * _PER_T  # derivative of the local variable of a patch by t
_PER_CURVATURE = _PER_SLOPE**2
_TERMS_T = DEGREE_T + 1
_PATCH = _TERMS_T * (DEGREE_Q + 1)

_points = stack_array(BLOCK)
_polynomials = stack_array(_TERMS_T * BLOCK)


def evaluate(table: Any, rows: int, n: int, mu: Any, s2: Any, f0: Any, f1: Any, f2: Any) -> None:
    """Write F0, F1 and F2 at `n` points."""
    m, r, t, x, y, patch = _points(), _points(), _points(), _points(), _points(), _points()
    in_t, g0, g1, g2 = _polynomials(), _points(), _points(), _points()
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        out_of_range = 0
        for j in range(size):
            centre = float(mu[start + j])
            variance = float(s2[start + j])
            # A number is finite if its difference from itself is zero. LLVM would not vectorise
            # `isfinite`.
            ordinary = (centre - centre == 0.0) & (variance - variance == 0.0) & (variance > 0.0)
            out_of_range |= 1 - int(ordinary)
            m[j] = centre
            r[j] = sqrt(variance + C * C)
            t[j] = abs(centre) / r[j]
            # Points outside of the table, including NaN, use an arbitrary patch.
            u = (t[j] if t[j] < T_END else T_END) * _PER_T
            v = (C * C) / (variance + C * C) * PATCHES_Q
            v = v if v > 0.0 else 0.0
            v = v if v < PATCHES_Q else float(PATCHES_Q)
            patch_t = min(float(int(u)), PATCHES_T - 1.0)
            patch_q = min(float(int(v)), PATCHES_Q - 1.0)
            x[j] = 2.0 * (u - patch_t) - 1.0
            y[j] = 2.0 * (v - patch_q) - 1.0
            patch[j] = patch_t * PATCHES_Q + patch_q
        _look_up(table, size, patch, y, in_t)
        _differentiate(size, in_t, x, g0, g1, g2)
        for j in range(size):
            inside = 1.0 if t[j] < T_END else 0.0
            # The exact values have these signs. Rounding errors of the table can have either.
            value = inside * max(g0[j], 0.0)
            slope = inside * max(-g1[j] * _PER_SLOPE, 0.0)
            curvature = inside * max(2.0 * g2[j] * _PER_CURVATURE, 0.0)
            f0[start + j] = max(m[j], 0.0) + r[j] * value
            f1[start + j] = 1.0 - slope if m[j] > 0.0 else slope
            f2[start + j] = curvature / r[j]
        if out_of_range:
            _fill_out_of_range(size, start, mu, s2, f0, f1, f2)


@jit
def _look_up(table: Any, size: int, patch: Any, y: Any, in_t: Any) -> None:
    """Write the coefficients of the points' polynomials in t, grouped by power."""
    coefficients = lanes()
    for j in range(size):
        first = int(patch[j]) * _PATCH
        for k in range(0, _TERMS_T, LANES):
            copy(coefficients, 0, table, first + DEGREE_Q * _TERMS_T + k)
            for power in range(DEGREE_Q - 1, -1, -1):
                multiply_add(coefficients, 0, y[j], table, first + power * _TERMS_T + k)
            for lane in range(LANES):
                in_t[(k + lane) * BLOCK + j] = coefficients[lane]


@jit
def _differentiate(size: int, in_t: Any, x: Any, g0: Any, g1: Any, g2: Any) -> None:
    """Write the values, the slopes and half of the curvatures of the polynomials at `x`."""
    for j in range(size):
        value = in_t[DEGREE_T * BLOCK + j]
        slope = 0.0
        curvature = 0.0
        for k in range(DEGREE_T - 1, -1, -1):
            curvature = fma(curvature, x[j], slope)
            slope = fma(slope, x[j], value)
            value = fma(value, x[j], in_t[k * BLOCK + j])
        g0[j] = value
        g1[j] = slope
        g2[j] = curvature


@jit
def _fill_out_of_range(size: int, start: int, mu: Any, s2: Any, f0: Any, f1: Any, f2: Any) -> None:
    """Write the results at points with zero variance and at invalid points."""
    for j in range(start, start + size):
        m = float(mu[j])
        variance = float(s2[j])
        if not (math.isfinite(m) and math.isfinite(variance) and variance >= 0.0):
            f0[j] = math.nan
            f1[j] = math.nan
            f2[j] = math.nan
        elif variance == 0.0:
            f0[j], f1[j], f2[j] = softplus_at(m)
