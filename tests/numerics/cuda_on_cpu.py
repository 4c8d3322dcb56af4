"""Simulate a GPU: build the CUDA source for the CPU, and replace CuPy by a module that runs it."""

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

from gvibench.check.strict_backend import TransferError
from gvibench.numerics import cuda_backend
from gvibench.numerics.expectations.cuda import SOURCE_FILE

SHIM = Path(__file__).with_name("cpu_shim.h")
UPPER = 1  # CUBLAS_FILL_MODE_UPPER


def build(folder):
    """Compile the kernels with g++ and return the library."""
    library = folder / "expectations.so"
    # As on the device, only explicit multiply-adds are fused.
    options = ["-std=c++17", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Werror"]
    command = ["g++", *options, "-Wno-unknown-pragmas", "-include", SHIM, "-x", "c++", SOURCE_FILE]
    subprocess.run([*command, "-o", library], check=True)
    return ctypes.CDLL(str(library))


def launch(library, name, grid, block, arguments):
    """Run a kernel on the CPU."""

    def address(argument):
        if isinstance(argument, np.ndarray):
            return ctypes.c_void_p(argument.ctypes.data)
        return ctypes.c_longlong(int(argument))

    kernel = ctypes.cast(getattr(library, name), ctypes.c_void_p)
    (blocks,), (threads,) = grid, block
    library.launch(kernel, blocks, threads, *map(address, arguments))


class DeviceArray(np.ndarray):
    """NumPy array that behaves like an array of CuPy: operations with NumPy arrays are errors.

    While `sealed` is set, reads of values are errors as well.
    """

    sealed = False

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data)

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
            key = (*key, ...)  # an element is an array without dimensions, as in CuPy
        return _wrapped(self.view(np.ndarray)[_unwrapped(key)])

    def __setitem__(self, key, value):
        self.view(np.ndarray)[_unwrapped(key)] = _unwrapped(value)

    def __iter__(self):
        if self.ndim < 2:
            _read("iteration over the elements of a vector")
        return (self[i] for i in range(len(self)))


def _read(what):
    if DeviceArray.sealed:
        raise TransferError(what)


def _guard(name):
    original = getattr(np.ndarray, name)

    def guarded(self, *arguments):
        _read(name)
        return original(self.view(np.ndarray), *arguments)

    setattr(DeviceArray, name, guarded)


for _name in ("__float__", "__int__", "__bool__", "__index__", "item", "tolist"):
    _guard(_name)


def _unwrapped(value):
    if isinstance(value, DeviceArray):
        return value.view(np.ndarray)
    if isinstance(value, np.ndarray | np.generic):
        raise TransferError(f"a host array in an operation on the device: {value!r}")
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
    _read("a transfer to the device")
    return np.array(values, dtype=dtype).view(DeviceArray)


def _to_host(values):
    _read("a transfer to the host")
    return np.array(values.view(np.ndarray))


def _creator(function):
    return lambda *arguments, **options: _wrapped(function(*arguments, **options))


class Device:
    """Replacement of `cupy.cuda.Device` whose free memory tests can set."""

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
    """Replacement of `cupy.cuda.Event`."""

    def record(self):
        pass

    def synchronize(self):
        pass


def cupy_stand_in(library):
    """Return modules by name that replace CuPy."""
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
        device=types.SimpleNamespace(get_cusolver_handle=lambda: None),
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
    libs = types.SimpleNamespace(
        cublas=types.SimpleNamespace(CUBLAS_FILL_MODE_UPPER=UPPER),
        cusolver=types.SimpleNamespace(
            spotrf=_potrf(np.float32),
            dpotrf=_potrf(np.float64),
            spotrf_bufferSize=lambda *arguments: 1,
            dpotrf_bufferSize=lambda *arguments: 1,
        ),
    )
    parents = ("cupyx", "cupyx.scipy", "cupy_backends", "cupy_backends.cuda")
    return {
        "cupy": cupy,
        "cupy.cuda": cupy.cuda,
        "cupyx.scipy.linalg": linalg,
        "cupy_backends.cuda.libs": libs,
        **{name: types.ModuleType(name) for name in parents},
    }


def _potrf(dtype):
    """Return the Cholesky factorisation of cuSOLVER, which leaves a partial factor on failure."""

    def potrf(handle, uplo, d, matrix, stride, workspace, size, status):
        assert (uplo, stride) == (UPPER, d)
        columns = _at_address(matrix, d * d, dtype).reshape(d, d).T
        (factorise,) = scipy.linalg.get_lapack_funcs(("potrf",), (columns,))
        columns[...], info = factorise(columns, lower=0, clean=0)
        _at_address(status, 1, np.int32)[...] = info

    return potrf


def _at_address(start, count, dtype):
    memory = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(start)
    return np.frombuffer(memory, dtype)


@pytest.fixture(scope="session")
def kernels_on_cpu(tmp_path_factory):
    """The library of kernels, built for the CPU."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    return build(tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def stand_in(kernels_on_cpu, monkeypatch, tmp_path):
    """The replacement of CuPy on a simulated machine with two devices."""
    modules = cupy_stand_in(kernels_on_cpu)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: name in modules or find_spec(name)
    )
    monkeypatch.setenv("GVIBENCH_CACHE", str(tmp_path))
    _reset_backend()
    yield modules["cupy"]
    _reset_backend()


def _reset_backend():
    """Clear what the CUDA backend stores about the device, and release its lock."""
    for cached in ("why_unavailable", "_claimed_device", "_module", "_constant"):
        getattr(cuda_backend, cached).cache_clear()
    while cuda_backend._locks:
        lock = cuda_backend._locks.pop()
        if lock is not None:
            lock.close()
