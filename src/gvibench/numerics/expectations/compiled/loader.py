"""Machine code for the kernels, compiled once by Numba and then loaded without it.

Importing Numba and starting its compiler takes half a second, even for a function in its own
cache: more than many a run. So the object code of a kernel is kept in the user's cache and loaded
by llvmlite alone, in a few milliseconds. The name of the file changes with all that the code
depends on: the sources, the compiler and the processor.
"""

import ctypes
import hashlib
import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from gvibench.errors import UserError
from gvibench.store.files import atomic_path, cache_dir

__all__ = ["load_blocked", "load_fused", "load_kernel", "load_weigh"]

_C_TYPES = {"int64": ctypes.c_int64, "float64": ctypes.c_double}  # all else is an address
_ENTRY = "kernel"
_DIGEST_SIZE = hashlib.sha256().digest_size


@cache
def load_kernel(name: str, dtype: np.dtype[Any]) -> Callable[..., None]:
    """Return kernel `name` for points of type `dtype`, as a function of addresses and numbers.

    The arguments are the address of a float64 table, the number of its rows, the number of points
    and the addresses of mu, s2, f0, f1 and f2.
    """
    points = 5 * [f"{dtype.name} *"]
    arguments = ["float64 *", "int64", "int64", *points]
    return _load(f"{name}-{dtype.name}", arguments, lambda: _evaluate(name))


@cache
def load_fused(name: str) -> Callable[..., None]:
    """Return a logistic model's oracle by kernel `name`, as a function of addresses and numbers.

    `kernels.fused.fuse` says what the arguments are.
    """
    rows = ["int64", "int64", "float64 *", "float64 *", "float64"]
    gaussian = ["float64 *", "float64 *", "int64"]
    arguments = ["float64 *", "int64", *rows, *gaussian, "int64", "float64 *"]

    def source() -> Callable[..., None]:
        from gvibench.numerics.expectations.compiled.oracle_few_features import fuse

        return fuse(_evaluate(name))

    return _load(f"{name}-fused", arguments, source)


@cache
def load_blocked(name: str) -> Callable[..., None]:
    """Return a logistic model's sums over rows by kernel `name`, as `load_fused` does.

    `kernels.blocked.block` says what the arguments are.
    """
    rows = ["int64", "int64", "float64 *", "float64 *", "float64"]
    gaussian = ["float64 *", "float64 *", "int64", "int64"]
    routines = ["int64", "int64", "int64"]
    room_and_results = 9 * ["float64 *"]
    arguments = ["float64 *", "int64", *rows, *gaussian, *routines, *room_and_results]

    def source() -> Callable[..., None]:
        from gvibench.numerics.expectations.compiled.oracle_many_features import block

        return block(_evaluate(name))

    return _load(f"{name}-blocked", arguments, source)


@cache
def load_weigh(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Return what weighs rows of type `dtype`, as a function of addresses and numbers.

    `kernels.weigh.weigh` says what the arguments are.
    """

    def source() -> Callable[..., None]:
        from gvibench.numerics.expectations.compiled.scale_rows import weigh

        return weigh

    return _load(f"weigh-{dtype.name}", ["int64", "int64", *(3 * [f"{dtype.name} *"])], source)


def _evaluate(name: str) -> Callable[..., None]:
    module = importlib.import_module(f"gvibench.numerics.expectations.compiled.{name}")
    evaluate: Callable[..., None] = module.evaluate
    return evaluate


def _load(
    label: str, arguments: list[str], source: Callable[[], Callable[..., None]]
) -> Callable[..., None]:
    """Return the kernel that is kept as `label`, or else made of the function from `source`."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=3, jit=True
    )
    sources = [source.read_bytes() for source in sorted(Path(__file__).parent.rglob("*.py"))]
    made_by = [llvmlite.__version__, machine.triple, cpu, features]
    key = hashlib.sha256(repr([sources, made_by]).encode()).hexdigest()[:16]
    path = cache_dir() / "kernels" / f"{label}-{key}.o"
    code = _read(path)
    if code is None:
        code = _compile(source(), arguments, machine)
        _write(path, code)

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    c_types: list[Any] = [_C_TYPES.get(argument, ctypes.c_void_p) for argument in arguments]
    kernel: Any = ctypes.CFUNCTYPE(None, *c_types)(engine.get_function_address(_ENTRY))
    kernel.engine = engine  # owns the code: must live as long as the function
    return kernel  # type: ignore[no-any-return]


def _read(path: Path) -> bytes | None:
    # LLVM ends the process when it meets broken object code, hence the digest.
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    digest, code = stored[:_DIGEST_SIZE], stored[_DIGEST_SIZE:]
    return code if hashlib.sha256(code).digest() == digest else None


def _write(path: Path, code: bytes) -> None:
    # A cache that cannot be written costs time, nothing else.
    try:
        with atomic_path(path) as part:
            part.write_bytes(hashlib.sha256(code).digest() + code)
    except (OSError, UserError):
        pass


def _compile(
    function: Callable[..., None], arguments: list[str], machine: llvm.TargetMachine
) -> bytes:
    """Return the object code of a kernel, with a function `_ENTRY` and no need of any library."""
    import numba

    types: Any = numba.types
    signature = types.void(*(_numba_type(types, argument) for argument in arguments))
    # Inlined into Numba's wrapper, the kernel shows that it never raises, and with that the
    # wrapper's calls to Python disappear.
    compiled = numba.cfunc(signature, error_model="numpy", forceinline=True)(function)
    module = llvm.parse_assembly(compiled.inspect_llvm())
    module.get_function(compiled.native_name).name = _ENTRY
    missing = [
        called.name
        for called in module.functions
        if called.is_declaration and not called.name.startswith("llvm.")
    ]
    if missing:
        # Without Numba nothing defines these; LLVM would end the process on loading.
        raise RuntimeError(f"kernel '{function.__qualname__}' calls {', '.join(missing)}")
    code: bytes = machine.emit_object(module)
    return code


def _numba_type(types: Any, argument: str) -> Any:
    name, _, pointer = argument.partition(" ")
    found = getattr(types, name)
    return types.CPointer(found) if pointer else found
