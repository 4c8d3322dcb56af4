"""The CUDA source built for the CPU, and a stand-in for CuPy that runs it: no device needed."""

import ctypes
import subprocess
import types

import numpy as np
import scipy.linalg

from gvibench.expectations.cuda import SOURCE_FILE

SHIM = SOURCE_FILE.parents[4] / "tests/backend/cpu_shim.h"


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
    cupy.asnumpy = np.asarray
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
    linalg.solve_triangular = lambda a, b, trans, lower: scipy.linalg.solve_triangular(
        a, b, trans=trans, lower=lower, check_finite=False
    )
    parents = {name: types.ModuleType(name) for name in ("cupyx", "cupyx.scipy")}
    return {"cupy": cupy, "cupyx.scipy.linalg": linalg, **parents}


def potrf_stand_in(matrix):
    """What `cuda_backend._potrf` returns: on failure a factor half done, and a status."""
    upper, info = scipy.linalg.lapack.dpotrf(matrix.T, lower=0, clean=0)
    return np.ascontiguousarray(upper.T), np.array([info], dtype=np.int32)
