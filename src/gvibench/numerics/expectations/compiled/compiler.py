"""Compile kernels to object code with Numba and LLVM.

Importing this module loads llvmlite, and compiling loads Numba, so `loader` imports it only if a
kernel is not in the cache or cannot be mapped into memory directly.
"""

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

__all__ = ["compile_kernel", "describe_processor", "link_with_llvm"]


def compile_kernel(function: Callable[..., None], arguments: list[str], entry: str) -> bytes:
    """Return the object code of a kernel as a function called `entry`.

    The code depends on no library except the C library.
    """
    import numba

    types: Any = numba.types
    signature = types.void(*(_numba_type(types, argument) for argument in arguments))
    # Inlining the kernel into Numba's wrapper shows LLVM that it never raises, so LLVM removes
    # the wrapper's calls to Python.
    compiled = numba.cfunc(signature, error_model="numpy", forceinline=True)(function)
    module = llvm.parse_assembly(compiled.inspect_llvm())
    module.get_function(compiled.native_name).name = entry
    missing = [
        called.name
        for called in module.functions
        if called.is_declaration and not called.name.startswith("llvm.")
    ]
    if missing:
        # Only Numba defines these functions. Without it, LLVM ends the process on loading.
        raise RuntimeError(f"kernel '{function.__qualname__}' calls {', '.join(missing)}")
    code: bytes = _target_machine().emit_object(module)
    return code


def link_with_llvm(code: bytes, entry: str) -> tuple[int, Any]:
    """Return the address of the function `entry`, and the engine that owns its code."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine.get_function_address(entry), engine


def describe_processor() -> str:
    """Return LLVM's name and features of this processor."""
    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _target_machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        jit=True,
    )


def _numba_type(types: Any, argument: str) -> Any:
    name, _, pointer = argument.partition(" ")
    scalar = getattr(types, name)
    return types.CPointer(scalar) if pointer else scalar
