"""Load compiled kernels from the user's cache, and compile those that are missing.

Importing Numba and starting its compiler takes half a second, even for a function in Numba's own
cache, which is longer than many runs. The object code of a kernel is therefore stored in the cache
and mapped into memory directly, in about a millisecond. The file name contains a hash of
everything that the code depends on: the sources, the compiler and the processor.
"""

import ctypes
import hashlib
import importlib
import platform
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError
from gvibench.numerics.expectations.compiled.object_code import UnsupportedObjectError, map_object
from gvibench.store.files import atomic_path, cache_dir

__all__ = [
    "address",
    "load_expectation",
    "load_oracle_few_features",
    "load_oracle_many_features",
    "load_scale_rows",
]

_C_TYPES = {"int64": ctypes.c_int64, "float64": ctypes.c_double}  # all others are addresses
_ENTRY = "kernel"
_DIGEST_SIZE = hashlib.sha256().digest_size
_X86_FIELDS = {"vendor_id", "cpu family", "model", "stepping", "flags"}
_ARM_FIELDS = {"CPU implementer", "CPU variant", "CPU part", "CPU revision", "Features"}

_PROBLEM = ["float64 *", "int64", "int64", "int64", "float64 *", "float64 *", "float64"]
_GAUSSIAN = ["float64 *", "float64 *", "int64"]


def address(array: NDArray[Any]) -> int:
    """Return the address of the first element of an array."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # The array is read-only or empty; this way is slower.
        start: int = array.ctypes.data
        return start


@cache
def load_expectation(name: str, dtype: np.dtype[Any]) -> Callable[..., None]:
    """Return the kernel of an expectation for points of type `dtype`.

    Its arguments are the address of a float64 table, the number of rows of the table, the number
    of points, and the addresses of mu, s2, f0, f1 and f2.
    """
    arguments = ["float64 *", "int64", "int64", *(5 * [f"{dtype.name} *"])]
    return _load(f"{name}-{dtype.name}", arguments, lambda: _evaluate(name))


@cache
def load_oracle_few_features(name: str) -> Callable[..., None]:
    """Return the oracle of a logistic model with few features for the expectation `name`.

    The module `oracle_few_features` describes its arguments.
    """

    def source() -> Callable[..., None]:
        from gvibench.numerics.expectations.compiled.oracle_few_features import build_oracle

        return build_oracle(_evaluate(name))

    arguments = [*_PROBLEM, *_GAUSSIAN, "int64", "float64 *"]
    return _load(f"{name}-few-features", arguments, source)


@cache
def load_oracle_many_features(name: str) -> Callable[..., None]:
    """Return the oracle of a logistic model with many features for the expectation `name`.

    The module `oracle_many_features` describes its arguments.
    """

    def source() -> Callable[..., None]:
        from gvibench.numerics.expectations.compiled.oracle_many_features import build_oracle

        return build_oracle(_evaluate(name))

    arguments = [*_PROBLEM, *_GAUSSIAN, *(4 * ["int64"]), *(3 * ["float64 *"])]
    return _load(f"{name}-many-features", arguments, source)


@cache
def load_scale_rows(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Return the kernel `scale_rows` for rows of type `dtype`."""

    def source() -> Callable[..., None]:
        from gvibench.numerics.expectations.compiled.scale_rows import scale_rows

        return scale_rows

    arguments = ["int64", "int64", *(3 * [f"{dtype.name} *"])]
    return _load(f"scale-rows-{dtype.name}", arguments, source)


def _evaluate(name: str) -> Callable[..., None]:
    module = importlib.import_module(f"gvibench.numerics.expectations.compiled.{name}")
    evaluate: Callable[..., None] = module.evaluate
    return evaluate


def _load(
    label: str, arguments: list[str], source: Callable[[], Callable[..., None]]
) -> Callable[..., None]:
    """Return the kernel `label` from the cache, or compile the function that `source` returns."""
    path = cache_dir() / "kernels" / f"{label}-{_cache_key()}.o"
    code = _read(path)
    if code is None:
        from gvibench.numerics.expectations.compiled.compiler import compile_kernel

        code = compile_kernel(source(), arguments, _ENTRY)
        _write(path, code)
    try:
        start, owner = map_object(code, _ENTRY)
    except UnsupportedObjectError:
        from gvibench.numerics.expectations.compiled.compiler import link_with_llvm

        start, owner = link_with_llvm(code, _ENTRY)
    c_types: list[Any] = [_C_TYPES.get(argument, ctypes.c_void_p) for argument in arguments]
    kernel: Any = ctypes.CFUNCTYPE(None, *c_types)(start)
    kernel.owner = owner  # The memory of the code must live as long as the function.
    return kernel  # type: ignore[no-any-return]


@cache
def _cache_key() -> str:
    # The kernels take constants from modules of the parent folder.
    folder = Path(__file__).parents[1]
    sources = [path.read_bytes() for path in sorted(folder.rglob("*.py"))]
    compilers = [version("numba"), version("llvmlite")]
    target = [platform.system(), platform.machine(), _processor()]
    return hashlib.sha256(repr([sources, compilers, target]).encode()).hexdigest()[:16]


def _processor() -> str:
    """Return a text that determines the instruction set and the model of the processor."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        first = ""
    known = _X86_FIELDS | _ARM_FIELDS
    lines = [line for line in first.splitlines() if line.partition("\t")[0] in known]
    if lines:
        return "\n".join(lines)
    from gvibench.numerics.expectations.compiled.compiler import describe_processor

    return describe_processor()


def _read(path: Path) -> bytes | None:
    # Corrupt object code would end the process, so the file starts with a digest.
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    digest, code = stored[:_DIGEST_SIZE], stored[_DIGEST_SIZE:]
    return code if hashlib.sha256(code).digest() == digest else None


def _write(path: Path, code: bytes) -> None:
    # Without a writable cache, the kernel is compiled in each process.
    try:
        with atomic_path(path) as part:
            part.write_bytes(hashlib.sha256(code).digest() + code)
    except (OSError, UserError):
        pass
