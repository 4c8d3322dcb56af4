"""The CUDA source built for the CPU, and a stand-in for CuPy that runs it: no device needed."""

import ctypes
import subprocess
import types

import numpy as np
import scipy.linalg

from gvibench.numerics.expectations.cuda import SOURCE_FILE

SHIM = SOURCE_FILE.parents[5] / "tests/backend/cpu_shim.h"


def build(folder):
    """Compile the kernels with g++ and return the library."""
    library = folder / "expectations.so"
    # As on the device, no multiply-adds are fused but those in the source.
    options = ["-std=c++17", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Werror"]
    command = ["g++", *options, "-Wno-unknown-pragmas", "-include", SHIM, "-x", "c++", SOURCE_FILE]
    subprocess.run([*command, "-o", library], check=True)
    return ctypes.CDLL(str(library))


def launch(library, name, grid, block, arguments):
    def address(argument):
        if isinstance(argument, np.ndarray):
            return ctypes.c_void_p(argument.ctypes.data)
        return ctypes.c_longlong(int(argument))

    kernel = ctypes.cast(getattr(library, name), ctypes.c_void_p)
    (blocks,), (threads,) = grid, block
    library.launch(kernel, blocks, threads, *map(address, arguments))


class TransferError(AssertionError):
    """Something went between host and device that must not."""


class DeviceArray(np.ndarray):
    """A NumPy array that behaves like one of CuPy: it never meets an array of the host.

    While `sealed`, nothing is allowed to look at its values either.
    """

    sealed = False

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        if out is not None:
            options["out"] = out
        result = getattr(ufunc, method)(*_unwrapped(inputs), **_unwrapped(options))
        return _wrapped(result) if out is None else out[0]

    def __array_function__(self, function, types, arguments, options):
        return _wrapped(function(*_unwrapped(arguments), **_unwrapped(options)))

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        if not any(part is Ellipsis for part in key):
            key = (*key, ...)  # makes an element a view of no dimension, as CuPy does
        return _wrapped(self.view(np.ndarray)[_unwrapped(key)])

    def __setitem__(self, key, value):
        self.view(np.ndarray)[_unwrapped(key)] = _unwrapped(value)

    def __iter__(self):
        if self.ndim < 2:
            _look("the elements of a vector, one by one")
        return (self[i] for i in range(len(self)))


def _look(what):
    if DeviceArray.sealed:
        raise TransferError(what)


def _guard(name):
    original = getattr(np.ndarray, name)

    def guarded(self, *arguments):
        _look(name)
        return original(self.view(np.ndarray), *arguments)

    setattr(DeviceArray, name, guarded)


for _name in ("__float__", "__int__", "__bool__", "__index__", "item", "tolist"):
    _guard(_name)


def _unwrapped(value):
    if isinstance(value, DeviceArray):
        return value.view(np.ndarray)
    if isinstance(value, np.ndarray | np.generic):
        raise TransferError(f"an array of the host on the device: {value!r}")
    if isinstance(value, tuple | list):
        return type(value)(map(_unwrapped, value))
    if isinstance(value, dict):
        return {name: _unwrapped(part) for name, part in value.items()}
    return value


def _wrapped(value):
    if isinstance(value, tuple):
        return tuple(map(_wrapped, value))
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value).view(DeviceArray)
    return value


def _to_device(values, dtype=None):
    if isinstance(values, DeviceArray):
        return values if dtype is None else values.astype(dtype, copy=False)
    _look("a transfer to the device")
    return np.array(values, dtype=dtype).view(DeviceArray)


def _to_host(values):
    _look("a transfer to the host")
    return np.array(values.view(np.ndarray))


def _creator(function):
    return lambda *arguments, **options: _wrapped(function(*arguments, **options))


class Device:
    """Looks like `cupy.cuda.Device`, with as much memory as a test says."""

    free = 8 * 2**30

    def __init__(self, index):
        self.id = index
        self.pci_bus_id = f"0000:0{index}:00.0"

    def use(self):
        pass

    @property
    def mem_info(self):
        return self.free, 16 * 2**30


class Event:
    def record(self):
        pass

    def synchronize(self):
        pass


def cupy_stand_in(library):
    """Return modules by name that do with NumPy what CuPy does on a device."""
    cupy = types.ModuleType("cupy")
    cupy.__dict__.update({name: getattr(np, name) for name in np.__all__ if hasattr(np, name)})
    for name in ("empty", "zeros", "eye", "tri"):
        setattr(cupy, name, _creator(getattr(np, name)))
    cupy.asarray, cupy.asnumpy = _to_device, _to_host
    cupy.ascontiguousarray = lambda a: _wrapped(np.ascontiguousarray(_unwrapped(a)))
    cupy.ReductionKernel = lambda *texts: lambda rows, axis: np.sum(rows * rows, axis=axis)
    pool = types.SimpleNamespace(free_bytes=lambda: 0, total_bytes=lambda: 0)
    cupy.get_default_memory_pool = lambda: pool
    cupy.RawModule = lambda code, options: types.SimpleNamespace(
        get_function=lambda name: lambda *call: launch(library, name, *call)
    )
    cupy.cuda = types.SimpleNamespace(
        is_available=lambda: True,
        Device=Device,
        Event=Event,
        get_elapsed_time=lambda first, last: 1.0,
        runtime=types.SimpleNamespace(
            getDeviceCount=lambda: 2, getDeviceProperties=lambda index: {"name": b"stand-in"}
        ),
    )
    linalg = types.ModuleType("cupyx.scipy.linalg")
    linalg.solve_triangular = lambda a, b, lower: _wrapped(
        scipy.linalg.solve_triangular(_unwrapped(a), _unwrapped(b), lower=lower, check_finite=False)
    )
    parents = {name: types.ModuleType(name) for name in ("cupyx", "cupyx.scipy")}
    return {"cupy": cupy, "cupyx.scipy.linalg": linalg, **parents}


def potrf_stand_in(matrix):
    """What `cuda_backend._potrf` returns: on failure a factor half done, and a status."""
    plain = _unwrapped(matrix)
    (potrf,) = scipy.linalg.get_lapack_funcs(("potrf",), (plain,))
    upper, info = potrf(plain.T, lower=0, clean=0)
    return _wrapped(np.ascontiguousarray(upper.T)), _wrapped(np.array([info], dtype=np.int32))
