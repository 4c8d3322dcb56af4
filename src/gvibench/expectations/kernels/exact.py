"""Look-up in the table of `gvibench.expectations.exact_table`."""

import math
from typing import Any

from gvibench.expectations.exact_table import (
    DEGREE_Q,
    DEGREE_T,
    PATCHES_Q,
    PATCHES_T,
    T_END,
    C,
)
from gvibench.expectations.kernels.elementary import fma, softplus_at, sqrt, stack_array
from gvibench.expectations.kernels.lanes import LANES, copy, multiply_add

__all__ = ["evaluate"]

_PER_T = PATCHES_T / T_END
_PER_SLOPE = 2 * _PER_T  # from the local variable of a patch to t
_PER_CURVATURE = _PER_SLOPE**2
_TERMS_T = DEGREE_T + 1
_in_t = stack_array(_TERMS_T)
_PATCH = _TERMS_T * (DEGREE_Q + 1)


def evaluate(table: Any, rows: int, n: int, mu: Any, s2: Any, f0: Any, f1: Any, f2: Any) -> None:
    """Write F0, F1 and F2 of `n` points."""
    in_t = _in_t()
    for j in range(n):
        m = float(mu[j])
        variance = float(s2[j])
        if not (math.isfinite(m) and math.isfinite(variance) and variance >= 0.0):
            f0[j] = math.nan
            f1[j] = math.nan
            f2[j] = math.nan
            continue
        if variance == 0.0:
            f0[j], f1[j], f2[j] = softplus_at(m)
            continue
        r = sqrt(variance + C * C)
        t = abs(m) / r
        value = 0.0
        slope = 0.0
        curvature = 0.0
        if t < T_END:
            x = t * _PER_T
            y = (C * C) / (variance + C * C) * PATCHES_Q
            patch_t = min(int(x), PATCHES_T - 1)
            patch_q = min(int(y), PATCHES_Q - 1)
            x = 2.0 * (x - patch_t) - 1.0
            y = 2.0 * (y - patch_q) - 1.0
            first = (patch_t * PATCHES_Q + patch_q) * _PATCH
            for k in range(0, _TERMS_T, LANES):
                copy(in_t, k, table, first + DEGREE_Q * _TERMS_T + k)
            for power in range(DEGREE_Q - 1, -1, -1):
                for k in range(0, _TERMS_T, LANES):
                    multiply_add(in_t, k, y, table, first + power * _TERMS_T + k)
            value = in_t[DEGREE_T]
            for k in range(DEGREE_T - 1, -1, -1):
                curvature = fma(curvature, x, slope)
                slope = fma(slope, x, value)
                value = fma(value, x, in_t[k])
            # The true values have these signs; a table ends at rounding errors of either one.
            value = max(value, 0.0)
            slope = max(-slope * _PER_SLOPE, 0.0)
            curvature = max(2.0 * curvature * _PER_CURVATURE, 0.0)
        f0[j] = max(m, 0.0) + r * value
        f1[j] = 1.0 - slope if m > 0.0 else slope
        f2[j] = curvature / r
