"""Call BLAS routines from compiled kernels.

The object code of a kernel is not linked to a BLAS, so a kernel gets the addresses of the routines
as arguments. The routines follow the conventions of Fortran: all arguments are addresses, and
matrices are column-major. A routine therefore works on the transposes of our row-major matrices.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from gvibench.numerics.expectations.compiled.elementary import instruction

__all__ = ["add_gram", "times_triangle"]

_BYTE = ir.IntType(8)


def _on_stack(builder: Any, value: Any) -> Any:
    """Store a number on the stack and return its address."""
    # Integers have 64 bits. A BLAS with 32-bit integers reads the same number from this address,
    # because all supported processors are little-endian.
    return cgutils.alloca_once_value(builder, value)  # type: ignore[no-untyped-call]


def _letter(builder: Any, letter: str) -> Any:
    """Store a letter on the stack and return its address."""
    return _on_stack(builder, ir.Constant(_BYTE, ord(letter)))


def _transposition(builder: Any, transposed: Any) -> Any:
    """Store the letter T or N on the stack and return its address."""
    condition = builder.icmp_signed("!=", transposed, transposed.type(0))
    letters = (ir.Constant(_BYTE, ord(letter)) for letter in "TN")
    return _on_stack(builder, builder.select(condition, *letters))


def _call(builder: Any, routine: Any, arguments: Sequence[Any]) -> None:
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    builder.call(builder.inttoptr(routine, kind.as_pointer()), arguments)


@instruction
def times_triangle(
    context: Any, routine: Any, transposed: Any, n: Any, d: Any, triangle: Any, rows: Any
) -> Any:
    """Multiply n rows of d numbers by a lower triangular matrix or its transpose (DTRMM)."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        routine, transposed, n, d, triangle, rows = arguments
        columns, height = _on_stack(builder, n), _on_stack(builder, d)
        one = _on_stack(builder, ir.Constant(ir.DoubleType(), 1.0))
        left, upper, plain = (_letter(builder, letter) for letter in "LUN")
        transposition = _transposition(builder, transposed)
        matrices = (one, triangle, height, rows, height)
        _call(builder, routine, (left, upper, transposition, plain, height, columns, *matrices))
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
    """Add `factor` times the Gram matrix of n rows of d numbers to a lower triangle (DSYRK).

    If `transposed`, add the Gram matrix of d columns of n numbers.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        routine, factor, transposed, n, d, rows, total = arguments
        columns, height, scale = (
            _on_stack(builder, n),
            _on_stack(builder, d),
            _on_stack(builder, factor),
        )
        one = _on_stack(builder, ir.Constant(ir.DoubleType(), 1.0))
        upper, transposition = _letter(builder, "U"), _transposition(builder, transposed)
        matrices = (scale, rows, height, one, total, height)
        _call(builder, routine, (upper, transposition, height, columns, *matrices))
        return context.get_dummy_value()

    integers = (types.int64, types.int64, types.int64)
    return types.void(types.int64, types.float64, *integers, rows, total), emit
