"""Elementary functions for the compiled kernels, in a form that vectorises.

Without Intel's SVML, Numba calls libm for each exp, which is slow and prevents vectorisation. The
functions below are branch-free polynomials. They consist of fused multiply-adds, which round the
same way in vector and in scalar code, so the result at a point does not depend on its position in
an array.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = [
    "BLOCK",
    "EXP_END",
    "TAIL_END",
    "exp_nonpositive",
    "fma",
    "instruction",
    "jit",
    "log1p_of_unit",
    "mills_ratio",
    "offset",
    "softplus_at",
    "sqrt",
    "stack_array",
]

Function = TypeVar("Function", bound=Callable[..., Any])

_DOUBLES: Any = types.CPointer(types.float64)  # type: ignore[no-untyped-call]

_CACHE_LINE = 64  # bytes

BLOCK = 64
"""Number of points per block. The intermediate results of a block fit into the L1 cache."""


def jit(function: Function) -> Function:
    """Compile a function that kernels call. Division by zero follows IEEE 754 and never raises."""
    return cast(Function, numba.njit(error_model="numpy")(function))


def instruction(emitter: Callable[..., Any]) -> Any:
    """Return a function for kernels from one that emits LLVM instructions."""
    return intrinsic(emitter)


@instruction
def fma(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """Return x y + z with one rounding."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), emit


@instruction
def sqrt(typing_context: Any, x: Any) -> Any:
    """Return the square root, or NaN if x is negative, by one instruction instead of libm."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        root = builder.module.declare_intrinsic("llvm.sqrt", [ir.DoubleType()])
        return builder.call(root, arguments)

    return types.float64(types.float64), emit


def stack_array(size: int) -> Any:
    """Return a function for kernels that creates an array of `size` float64 on the stack.

    LLVM vectorises loops over such arrays because it can prove that they do not overlap. They start
    on cache lines, because vector loads that span two lines are slower.
    """

    @instruction
    def array(typing_context: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = cgutils.alloca_once(builder, ir.DoubleType(), size=size)  # type: ignore[no-untyped-call]
            array.align = _CACHE_LINE
            return array

        return _DOUBLES(), emit

    return array


@instruction
def offset(typing_context: Any, array: Any, distance: Any) -> Any:
    """Return the part of an array that starts `distance` elements after its first one."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return array(array, types.int64), emit


@instruction
def _bits_to_float(typing_context: Any, bits: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), emit


@instruction
def _float_to_bits(typing_context: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), emit


EXP_END = -700.0
"""Argument below which the exponential is treated as zero."""

_LOG2_E = 1 / math.log(2)
_LN2_HIGH = float.fromhex(
    "0x1.62e42fefa3800p-1"
)  # has ten trailing zero bits, so its product with k is exact
_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
_ROUNDER = 1.5 * 2.0**52  # adding this leaves the nearest integer in the low bits
_EXPONENT_SHIFT = 52
_T3, _T4, _T5, _T6, _T7, _T8, _T9, _T10, _T11, _T12 = (1 / math.factorial(k) for k in range(3, 13))


@jit
def exp_nonpositive(x: float) -> float:
    """Return exp(x) for EXP_END <= x <= 0, to one unit in the last place."""
    # Write x = k ln 2 + rest with |rest| <= ln 2 / 2, and use Taylor's polynomial of degree 12.
    shifted = fma(x, _LOG2_E, _ROUNDER)
    k = shifted - _ROUNDER
    rest = fma(k, -_LN2_LOW, fma(k, -_LN2_HIGH, x))
    y = fma(rest, _T12, _T11)
    y = fma(rest, y, _T10)
    y = fma(rest, y, _T9)
    y = fma(rest, y, _T8)
    y = fma(rest, y, _T7)
    y = fma(rest, y, _T6)
    y = fma(rest, y, _T5)
    y = fma(rest, y, _T4)
    y = fma(rest, y, _T3)
    y = fma(rest, y, 0.5)
    y = fma(rest, y, 1.0)
    y = fma(rest, y, 1.0)
    # Multiply by 2^k by adding k, which is in the low bits of `shifted`, to the exponent of y.
    scaled: float = _bits_to_float(_float_to_bits(y) + (_float_to_bits(shifted) << _EXPONENT_SHIFT))
    return scaled


@jit
def log1p_of_unit(e: float) -> float:
    """Return log(1 + e) for 0 <= e <= 1, to a few units in the last place."""
    # This is 2 artanh(v) with v = e / (2 + e) <= 1/3, whose series in v^2 <= 1/9 converges fast.
    v = e / (2.0 + e)
    y = v * v
    p: float = fma(y, 1 / 31, 1 / 29)
    p = fma(y, p, 1 / 27)
    p = fma(y, p, 1 / 25)
    p = fma(y, p, 1 / 23)
    p = fma(y, p, 1 / 21)
    p = fma(y, p, 1 / 19)
    p = fma(y, p, 1 / 17)
    p = fma(y, p, 1 / 15)
    p = fma(y, p, 1 / 13)
    p = fma(y, p, 1 / 11)
    p = fma(y, p, 1 / 9)
    p = fma(y, p, 1 / 7)
    p = fma(y, p, 1 / 5)
    p = fma(y, p, 1 / 3)
    p = fma(v * y, p, v)
    return 2.0 * p


TAIL_END = 9.0
"""Number of standard deviations beyond which the mass of a Gaussian is 1e-19."""

# Least-squares fit of the Mills ratio on 0 <= z <= TAIL_END, weighted by the density. The variable
# runs from -1 to 1 and is linear in 1 / (z + 4). A test in tests/numerics repeats the fit.
_M0, _M1, _M2, _M3, _M4, _M5, _M6, _M7, _M8, _M9, _M10, _M11, _M12, _M13 = (
    0.403580845545021,
    0.47077952951645796,
    0.25302060615578625,
    0.09798323262172356,
    0.025279631603171048,
    0.003158250686815344,
    -0.00033336843105494625,
    -0.00016538657046448647,
    3.1554864079919057e-06,
    8.247744467968869e-06,
    -2.0599710484134819e-07,
    -4.799696677924978e-07,
    7.830959335291278e-08,
    6.143506856421952e-10,
)


@jit
def mills_ratio(z: float) -> float:
    """Return (1 - Phi(z)) / N(z; 0, 1) for 0 <= z <= TAIL_END.

    Its product with the density, (1 - Phi(z)), has an absolute error below 1e-15.
    """
    x = (104 / 9) / (z + 4.0) - 17 / 9
    p: float = fma(x, _M13, _M12)
    p = fma(x, p, _M11)
    p = fma(x, p, _M10)
    p = fma(x, p, _M9)
    p = fma(x, p, _M8)
    p = fma(x, p, _M7)
    p = fma(x, p, _M6)
    p = fma(x, p, _M5)
    p = fma(x, p, _M4)
    p = fma(x, p, _M3)
    p = fma(x, p, _M2)
    p = fma(x, p, _M1)
    p = fma(x, p, _M0)
    return p  # noqa: RET504 (one line per power)


@jit
def softplus_at(x: float) -> tuple[float, float, float]:
    """Return phi, phi' and phi'' at x, which are the expectations for zero variance."""
    e = exp_nonpositive(max(-abs(x), EXP_END))
    share = 1.0 / (1.0 + e)
    return max(x, 0.0) + log1p_of_unit(e), e * share if x < 0.0 else share, e * share * share
