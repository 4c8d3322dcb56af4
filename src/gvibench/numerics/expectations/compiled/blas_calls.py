"""Calls of BLAS routines from compiled kernels, by their addresses.

A kernel is kept as object code that needs no library, so it is told where the routines are. They
are Fortran's: every argument is an address, and matrices are column-major, so that they see the
transposes of row-major ones.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from gvibench.numerics.expectations.compiled.elementary import instruction

__all__ = ["add_gram", "times_triangle"]

_BYTE = ir.IntType(8)


def _kept(builder: Any, value: Any) -> Any:
    """Return the address of a number on the stack."""
    # Integers are kept as 64 bits. A BLAS that reads 32 of them finds the same number there: all
    # processors that we know of keep the low half first.
    return cgutils.alloca_once_value(builder, value)  # type: ignore[no-untyped-call]


def _letter(builder: Any, letter: str) -> Any:
    return _kept(builder, ir.Constant(_BYTE, ord(letter)))


def _turn(builder: Any, transposed: Any) -> Any:
    turned = builder.icmp_signed("!=", transposed, transposed.type(0))
    letters = (ir.Constant(_BYTE, ord(letter)) for letter in "TN")
    return _kept(builder, builder.select(turned, *letters))


def _call(builder: Any, routine: Any, arguments: Sequence[Any]) -> None:
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(builder.inttoptr(routine, kind.as_pointer()), arguments)


@instruction
def times_triangle(
    context: Any, routine: Any, transposed: Any, n: Any, d: Any, triangle: Any, rows: Any
) -> Any:
    """Multiply n rows of d numbers by a lower triangular matrix, or its transpose (DTRMM)."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        routine, transposed, n, d, triangle, rows = arguments
        columns, height = _kept(builder, n), _kept(builder, d)
        one = _kept(builder, ir.Constant(ir.DoubleType(), 1.0))
        left, upper, plain = (_letter(builder, letter) for letter in "LUN")
        turn = _turn(builder, transposed)
        matrices = (one, triangle, height, rows, height)
        _call(builder, routine, (left, upper, turn, plain, height, columns, *matrices))
        return context.get_dummy_value()

    integers = (types.int64, types.int64, types.int64, types.int64)
    return types.void(*integers, triangle, rows), emit


@instruction
def add_gram(
    context: Any,
    routine: Any,
    factor: Any,
    transposed: Any,
    n: Any,
    d: Any,
    rows: Any,
    total: Any,
) -> Any:
    """Add `factor` times the Gram matrix of n rows to a lower triangle (DSYRK).

    If `transposed`, that of d columns of n numbers.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        routine, factor, transposed, n, d, rows, total = arguments
        columns, height, scale = _kept(builder, n), _kept(builder, d), _kept(builder, factor)
        one = _kept(builder, ir.Constant(ir.DoubleType(), 1.0))
        upper, turn = _letter(builder, "U"), _turn(builder, transposed)
        matrices = (scale, rows, height, one, total, height)
        _call(builder, routine, (upper, turn, height, columns, *matrices))
        return context.get_dummy_value()

    integers = (types.int64, types.int64, types.int64)
    return types.void(types.int64, types.float64, *integers, rows, total), emit
