"""Test the compiler of the kernels and the two ways to load its object code."""

import ctypes
import math
import platform

import numpy as np
import pytest

from gvibench.numerics.expectations.compiled.compiler import compile_kernel, link_with_llvm
from gvibench.numerics.expectations.compiled.object_code import UnsupportedObjectError, map_object

ARGUMENTS = ["int64", "float64 *"]

needs_elf = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="needs Linux on x86-64"
)


def fill(n, out):
    for i in range(n):
        out[i] = 0.1 * i + 3.7


def clear(n, out):
    for i in range(n):
        out[i] = 0.0


def fill_with_error_function(n, out):
    out[0] = math.erf(out[0])


def call(start, count):
    result = np.full(count + 1, -1.0)
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(start)
    kernel(count, result.ctypes.data)
    return result


@needs_elf
@pytest.mark.parametrize("function", [fill, clear])
def test_mapped_code_equals_code_linked_by_llvm(function):
    code = compile_kernel(function, ARGUMENTS, "kernel")
    mapped, memory = map_object(code, "kernel")
    linked, engine = link_with_llvm(code, "kernel")
    expected = np.append(np.zeros(100) if function is clear else 0.1 * np.arange(100) + 3.7, -1.0)
    np.testing.assert_allclose(call(mapped, 100), expected, rtol=1e-15)
    np.testing.assert_array_equal(call(mapped, 100), call(linked, 100))
    del memory, engine


@needs_elf
def test_unsupported_code_is_rejected():
    code = compile_kernel(fill, ARGUMENTS, "kernel")
    with pytest.raises(UnsupportedObjectError, match="no function 'other'"):
        map_object(code, "other")
    arm = code[:18] + (183).to_bytes(2, "little") + code[20:]
    mach_o = b"\xcf\xfa\xed\xfe" + code[4:]
    for foreign in (arm, mach_o):
        with pytest.raises(UnsupportedObjectError, match="not a relocatable ELF file"):
            map_object(foreign, "kernel")


def test_a_kernel_that_needs_a_library_is_rejected():
    with pytest.raises(RuntimeError, match="calls erf"):
        compile_kernel(fill_with_error_function, ARGUMENTS, "kernel")
