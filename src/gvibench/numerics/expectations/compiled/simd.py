"""Vector instructions for the compiled kernels.

LLVM unrolls short loops of known length instead of vectorising them, so this module emits vector
instructions explicitly. Each operation works on `LANES` adjacent numbers and rounds once, like
`fma` for one number. Arrays are of type float64 unless stated otherwise.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from gvibench.numerics.expectations.compiled.elementary import instruction, jit, stack_array

__all__ = [
    "LANES",
    "add_product",
    "add_scaled",
    "copy",
    "lanes",
    "multiply_add",
    "scale",
    "sum_of_lanes",
]

LANES = 4
"""Number of elements that one instruction processes."""

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)

lanes = stack_array(LANES)
"""Function for kernels that returns an array of `LANES` numbers, which LLVM keeps in a register."""


def _pointer(builder: Any, array: Any, start: Any) -> Any:
    return builder.bitcast(builder.gep(array, [start]), _VECTOR.as_pointer())


def _load(builder: Any, array: Any, start: Any) -> Any:
    return builder.load(_pointer(builder, array, start), align=8)


def _broadcast(builder: Any, number: Any) -> Any:
    vector = ir.VectorType(number.type, LANES)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.IntType(32)(0))
    first_lane = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
    return builder.shuffle_vector(first, first, first_lane)


def _store_fma(builder: Any, target: Any, at: Any, x: Any, y: Any, z: Any) -> None:
    kind = ir.FunctionType(_VECTOR, 3 * [_VECTOR])
    fma = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fma.v{LANES}f64")  # type: ignore[no-untyped-call]
    builder.store(builder.call(fma, [x, y, z]), _pointer(builder, target, at), align=8)


@instruction
def copy(context: Any, target: Any, at: Any, source: Any, start: Any) -> Any:
    """Set target[at:] to source[start:]."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, at, source, start = arguments
        builder.store(_load(builder, source, start), _pointer(builder, target, at), align=8)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), emit


@instruction
def scale(context: Any, target: Any, at: Any, factor: Any, source: Any, start: Any) -> Any:
    """Set target[at:] to factor * source[start:], in float64 or float32 arrays."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, at, factor, source, start = arguments
        kind = ir.VectorType(factor.type, LANES)
        source, target = (
            builder.bitcast(builder.gep(array, [first]), kind.as_pointer())
            for array, first in ((source, start), (target, at))
        )
        align = context.get_abi_sizeof(factor.type)
        product = builder.fmul(_broadcast(builder, factor), builder.load(source, align=align))
        builder.store(product, target, align=align)
        return context.get_dummy_value()

    return types.void(target, types.int64, target.dtype, source, types.int64), emit


@instruction
def add_scaled(context: Any, target: Any, at: Any, scale: Any, source: Any, start: Any) -> Any:
    """Add scale * source[start:] to target[at:]."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, at, scale, source, start = arguments
        vectors = (
            _broadcast(builder, scale),
            _load(builder, source, start),
            _load(builder, target, at),
        )
        _store_fma(builder, target, at, *vectors)
        return context.get_dummy_value()

    return types.void(target, types.int64, types.float64, source, types.int64), emit


@instruction
def add_product(context: Any, target: Any, left: Any, i: Any, right: Any, j: Any) -> Any:
    """Add left[i:] * right[j:] to target."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, left, i, right, j = arguments
        at = ir.IntType(64)(0)
        vectors = _load(builder, left, i), _load(builder, right, j), _load(builder, target, at)
        _store_fma(builder, target, at, *vectors)
        return context.get_dummy_value()

    return types.void(target, left, types.int64, right, types.int64), emit


@instruction
def multiply_add(context: Any, target: Any, at: Any, scale: Any, source: Any, start: Any) -> Any:
    """Set target[at:] to target[at:] * scale + source[start:]."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, at, scale, source, start = arguments
        vectors = (
            _load(builder, target, at),
            _broadcast(builder, scale),
            _load(builder, source, start),
        )
        _store_fma(builder, target, at, *vectors)
        return context.get_dummy_value()

    return types.void(target, types.int64, types.float64, source, types.int64), emit


@jit
def sum_of_lanes(array: Any) -> float:
    """Return the sum of `LANES` numbers in a fixed order."""
    total: float = (array[0] + array[2]) + (array[1] + array[3])
    return total
