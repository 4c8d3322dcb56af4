"""Backend for CUDA devices: CuPy arrays with cuBLAS and cuSOLVER.

CuPy is imported only if a device is requested. Only the timer and `to_host` wait for the device. If
an operation fails (a factorisation, a division by zero), its result is NaN, and the engine detects
it in the objective.
"""

import functools
import importlib
import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gvibench.errors import UserError
from gvibench.numerics.base import Array, Evaluate, Memory
from gvibench.numerics.device_lock import claim
from gvibench.numerics.streamed_rows import StreamedRows
from gvibench.store.files import cache_dir

if TYPE_CHECKING:
    from gvibench.numerics.expectations.base import Expectation

__all__ = ["CudaBackend", "planned_bytes", "require_device", "why_unavailable"]

SQUARE_MATRICES = 16
"""Maximum number of d x d matrices in a step: factor, curvature, update and temporaries."""
BLOCK_BUFFERS = 4
"""Maximum number of matrices of the size of a block: three buffers and the weighted rows."""
VECTORS = 8
"""Maximum number of vectors of the length of a block: mu, s2, F0, F1, F2, y and temporaries."""
MIN_CHECKED_BYTES = 2**28
"""Size from which a plan is compared with the free memory. The query is slow."""


@functools.cache
def why_unavailable() -> str | None:
    """Return a sentence that explains why no device can be used, or None if one can."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed: pip install 'gvibench[gpu]'"
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        return f"CuPy cannot be loaded ({error}): pip install --force-reinstall 'gvibench[gpu]'"
    if not cupy.cuda.is_available():
        return "CuPy finds no device: check nvidia-smi and CUDA_VISIBLE_DEVICES, or use 'cpu'"
    return None


def require_device() -> None:
    """Raise a `UserError` if no device can be used."""
    if (reason := why_unavailable()) is not None:
        raise UserError(f"device 'cuda' is not available, because {reason}")


def planned_bytes(resident: int, block: int, d: int, itemsize: int) -> int:
    """Return the device memory that a run with `d` features needs, in bytes.

    Parameters
    ----------
    resident
        Number of rows that stay on the device.
    block
        Number of rows in a block.
    d, itemsize
        Number of features, and bytes per number.
    """
    numbers = resident * d + BLOCK_BUFFERS * block * d + VECTORS * block + SQUARE_MATRICES * d * d
    return numbers * itemsize


class CudaBackend:
    """Row-major CuPy arrays on one device. All work is queued on the default stream."""

    block_bytes = 256 * 1024 * 1024
    block_rows = 1
    steps_between_syncs = 16

    def __init__(self, dtype: str = "float64") -> None:
        import cupy

        self.xp: Any = cupy
        self.dtype = np.dtype(dtype)
        self._device = _claimed_device()
        self._device.use()
        self._planned: set[int] = set()
        name = cupy.cuda.runtime.getDeviceProperties(self._device.id)["name"]
        self.name = f"cuda: {name.decode() if isinstance(name, bytes) else name}"
        self._square_sum = cupy.ReductionKernel(
            "T x", "T y", "x * x", "a + b", "y = a", "0", "gvibench_row_norms"
        )

    def asarray(self, values: Any) -> Array:
        if np.ndim(values) == 2 and not self._fits(*np.shape(values)):
            rows = np.ascontiguousarray(values, dtype=self.dtype)
            return StreamedRows(rows, self.xp.asarray, self.xp.asnumpy)
        return self.xp.ascontiguousarray(self.xp.asarray(values, dtype=self.dtype))

    def _fits(self, n: int, d: int) -> bool:
        """Return whether the rows fit on the device. Raise if they cannot even be streamed."""
        itemsize = self.dtype.itemsize
        block = min(n, max(self.block_rows, self.block_bytes // (d * itemsize)))
        # The first rows of a run are its training rows. Their plan includes the steps' memory.
        working = planned_bytes(0, block, d, itemsize) if d not in self._planned else 0
        self._planned.add(d)
        rows, block_of_rows = n * d * itemsize, block * d * itemsize
        if rows + working < MIN_CHECKED_BYTES:
            return True
        free = self._device.mem_info[0] + self.xp.get_default_memory_pool().free_bytes()
        if block_of_rows + working > free:
            raise UserError(
                f"a run with {d} features needs about {(block_of_rows + working) / 2**30:.2f} GiB "
                f"of device memory even if its {n} rows are streamed, and {free / 2**30:.2f} GiB "
                "are free: use device 'cpu' or dtype 'float32'"
            )
        return bool(rows + working <= free)

    def to_host(self, values: Array) -> np.ndarray:
        return np.asarray(self.xp.asnumpy(values), dtype=np.float64)

    def pack(self, values: Sequence[Array]) -> Array:
        return self.xp.stack([self.xp.asarray(value) for value in values], axis=-1)

    # CuPy does not expose TRMM, so these are GEMMs, which also multiply the zeros.

    def times_lower(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        return self.xp.matmul(self.xp.ascontiguousarray(rows), lower, out=out)

    def times_lower_t(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        return self.xp.matmul(self.xp.ascontiguousarray(rows), lower.T, out=out)

    def lower_times_lower(self, left: Array, right: Array) -> Array:
        return self.lower(self.xp.matmul(left, right))

    def row_norms(self, rows: Array) -> Array:
        return self._square_sum(rows, axis=-1)

    def square_sum(self, matrix: Array) -> Array:
        return self.xp.sum(matrix * matrix, axis=(-2, -1))

    def product_sum(self, first: Array, second: Array) -> Array:
        return self.xp.sum(first * second, axis=(-2, -1))

    def log_diagonal(self, lower: Array) -> Array:
        diagonal = self.xp.diagonal(lower, axis1=-2, axis2=-1)
        return self.xp.sum(self.xp.log(self.xp.abs(diagonal)), axis=-1)

    def count(self, mask: Array) -> Array:
        return self.xp.count_nonzero(mask, axis=-1)

    def invert_lower(self, lower: Array) -> Array:
        from cupyx.scipy.linalg import solve_triangular

        # The result is column-major. A copy takes less time than later products would lose.
        inverse = solve_triangular(lower, self.identity(len(lower)), lower=True)
        return self.xp.ascontiguousarray(self.lower(inverse))

    def add_gram(self, total: Array, rows: Array, weights: Array, buffer: Array) -> Array:
        # A GEMM supports weights of either sign. SYRK, which the CPU uses, would halve the work,
        # but it requires the signs of the weights on the host, which would wait for the device.
        weighted = self.xp.multiply(rows, weights[:, None], out=None if buffer is rows else buffer)
        total += self.xp.matmul(weighted.T, rows)
        return total

    def identity(self, d: int) -> Array:
        return _constant("identity", d, self.dtype.name, self._device.id)

    def lower(self, matrix: Array) -> Array:
        return self.xp.tril(matrix)

    def half_lower(self, matrix: Array) -> Array:
        return matrix * _constant("half_lower", len(matrix), self.dtype.name, self._device.id)

    def mirror(self, lower_half: Array) -> Array:
        return self.xp.tril(lower_half) + self.xp.tril(lower_half, -1).T

    def cholesky(self, matrix: Array, name: str) -> Array:
        factor, info = _potrf(matrix)
        return self.xp.where(info == 0, self.xp.tril(factor), np.nan).astype(self.dtype, copy=False)

    def triangularise(self, root: Array) -> Array:
        lower = self.xp.linalg.qr(root.T, mode="r").T
        signs = self.xp.where(self.xp.diagonal(lower) < 0, -1, 1).astype(self.dtype)
        return self.xp.ascontiguousarray(lower * signs)

    def eigh(self, matrix: Array) -> tuple[Array, Array]:
        values, vectors = self.xp.linalg.eigh(matrix)
        return values, vectors

    def timer(self) -> "EventTimer":
        return EventTimer()

    def expectation(self, expectation: "Expectation") -> Evaluate:
        return _Launcher(self.dtype, expectation)

    def fused_oracle(self, expectation: "Expectation", x: Array, y: Array, beta: float) -> None:
        return None  # blocks are large and calls are queued, so there is no overhead to save

    def memory(self) -> Memory:
        used = self.xp.get_default_memory_pool().total_bytes()
        return Memory(int(used), int(self._device.mem_info[1]))


class _Launcher:
    """Kernel of `gvibench.numerics.expectations.cuda` with its table on the device."""

    def __init__(self, dtype: np.dtype[Any], expectation: "Expectation") -> None:
        import cupy

        from gvibench.numerics.expectations.cuda import kernel_name

        table = expectation.table
        self._kernel = _module().get_function(kernel_name(expectation.name, dtype.name))
        self._dtype = dtype
        self._table = cupy.asarray(table, dtype=np.float64)
        self._rows = np.int64(len(table))

    def __call__(self, mu: Array, s2: Array, f0: Array, f1: Array, f2: Array) -> None:
        from gvibench.numerics.expectations.cuda import THREADS, blocks_for

        vectors = (mu, s2, f0, f1, f2)
        # The kernel does not check its arguments: a wrong one would overwrite memory.
        for vector in vectors:
            if (
                vector.shape != (mu.size,)
                or vector.dtype != self._dtype
                or not vector.flags.c_contiguous
            ):
                raise ValueError(f"expected five contiguous {self._dtype} vectors of one length")
        if mu.size:
            arguments = (self._table, self._rows, np.int64(mu.size), *vectors)
            self._kernel((blocks_for(mu.size),), (THREADS,), arguments)


class EventTimer:
    """Stopwatch that measures the work on the device instead of its submission."""

    def __init__(self) -> None:
        import cupy

        self._cuda = cupy.cuda
        self._intervals: list[tuple[Any, Any]] = []

    def start(self) -> None:
        start, end = self._cuda.Event(), self._cuda.Event()
        self._intervals.append((start, end))
        start.record()

    def stop(self) -> None:
        self._intervals[-1][1].record()

    def read(self) -> float:
        intervals, self._intervals = self._intervals, []
        if intervals:
            intervals[-1][1].synchronize()
        milliseconds: float = sum(self._cuda.get_elapsed_time(*interval) for interval in intervals)
        return milliseconds / 1000


@functools.cache
def _claimed_device() -> Any:
    """Return the device of this process. It is claimed on first use and until the process ends."""
    import cupy

    count = cupy.cuda.runtime.getDeviceCount()  # respects CUDA_VISIBLE_DEVICES
    names = [str(cupy.cuda.Device(index).pci_bus_id) for index in range(count)]
    index, lock = claim(names, cache_dir() / "devices")
    device = cupy.cuda.Device(index)
    _locks.append(lock)
    return device


_locks: list[Any] = []  # stay open until the process ends


@functools.cache
def _module() -> Any:
    import cupy

    from gvibench.numerics.expectations.cuda import COMPILE_OPTIONS, SOURCE_FILE

    return cupy.RawModule(code=SOURCE_FILE.read_text(), options=COMPILE_OPTIONS)


@functools.cache
def _constant(kind: str, d: int, dtype: str, device: int) -> Array:
    """Return a cached matrix, which must not be changed."""
    import cupy

    identity = cupy.eye(d, dtype=dtype)
    return identity if kind == "identity" else cupy.tri(d, dtype=dtype) - 0.5 * identity


def _potrf(matrix: Array) -> tuple[Array, Array]:
    """Return the Cholesky factor of cuSOLVER in the lower triangle, and its status on the device.

    `cupy.linalg.cholesky` either reads the status, which waits for the device, or discards it.
    """
    import cupy
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas, cusolver

    factor = matrix.astype(matrix.dtype, order="C", copy=True)
    d = len(factor)
    single = factor.dtype == np.float32
    potrf = cusolver.spotrf if single else cusolver.dpotrf
    workspace_size = cusolver.spotrf_bufferSize if single else cusolver.dpotrf_bufferSize
    # cuSOLVER is column-major, so its upper triangle is our lower triangle.
    matrix_arguments = (
        device.get_cusolver_handle(),
        cublas.CUBLAS_FILL_MODE_UPPER,
        d,
        factor.data.ptr,
        d,
    )
    size = workspace_size(*matrix_arguments)
    workspace = cupy.empty(size, dtype=factor.dtype)
    info = cupy.empty(1, dtype=np.int32)
    potrf(*matrix_arguments, workspace.data.ptr, size, info.data.ptr)
    return factor, info
