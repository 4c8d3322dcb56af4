"""Sum phi, phi' and phi'' over the nodes of a quadrature rule."""

import math
from typing import Any

from gvibench.numerics.expectations.compiled.elementary import (
    BLOCK,
    EXP_END,
    exp_nonpositive,
    jit,
    log1p_of_unit,
    sqrt,
    stack_array,
)

__all__ = ["evaluate"]

# Offsets of the quantities of a block of points in the array `work`.
_MU, _S, _F0, _F1, _F2 = (row * BLOCK for row in range(5))
_work = stack_array(5 * BLOCK)


def evaluate(table: Any, nodes: int, n: int, mu: Any, s2: Any, f0: Any, f1: Any, f2: Any) -> None:
    """Write F0, F1 and F2 at `n` points. A row of the table is a node and its weight."""
    work = _work()
    # The last block is padded to full size, so that the same code computes all points.
    for j in range(2 * BLOCK):
        work[j] = 0.0
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        for j in range(size):
            work[_MU + j] = mu[start + j]
            work[_S + j] = sqrt(s2[start + j])
        for j in range(3 * BLOCK):
            work[_F0 + j] = 0.0
        for i in range(nodes):
            _add_node(work, table[2 * i], table[2 * i + 1])
        for j in range(size):
            if math.isfinite(work[_MU + j]) and math.isfinite(work[_S + j]):
                f0[start + j] = work[_F0 + j]
                f1[start + j] = work[_F1 + j]
                f2[start + j] = work[_F2 + j]
            else:
                f0[start + j] = math.nan
                f1[start + j] = math.nan
                f2[start + j] = math.nan


@jit
def _add_node(work: Any, node: float, weight: float) -> None:
    """Add the terms of one node to the sums of a block of points."""
    for j in range(BLOCK):
        x = work[_MU + j] + work[_S + j] * node
        e = exp_nonpositive(max(-abs(x), EXP_END))
        share = 1.0 / (1.0 + e)
        work[_F0 + j] += weight * (max(x, 0.0) + log1p_of_unit(e))
        work[_F1 + j] += weight * (e * share if x < 0.0 else share)
        work[_F2 + j] += weight * (e * share * share)
