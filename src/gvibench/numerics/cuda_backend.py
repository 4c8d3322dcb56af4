"""CuPy arrays with cuBLAS and cuSOLVER.

CuPy is imported when a device is asked for, not before. Nothing here waits for the device except
the timer and `to_host`: what fails on the way (a factorisation, a division by zero) leaves NaN in
the result, and the loop finds it in the objective.
"""

import functools
import importlib
import importlib.util
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
"""Matrices of d x d that a step holds at most: factor, curvature, update, their temporaries."""
BLOCK_BUFFERS = 4
"""Matrices of a block's size at most: the model's three buffers and the weighted rows."""
VECTORS = 8
"""Vectors of a block that a pass holds at most: mu, s2, F0, F1, F2, y and temporaries."""
CHECKED_FROM = 2**28
"""Plans below so many bytes are not compared with the device, which takes longer than they do."""


@functools.cache
def why_unavailable() -> str | None:
    """Return what is missing for work on a device, as a sentence, or nothing."""
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
    """Raise a `UserError` that says what is missing, if anything is."""
    if (reason := why_unavailable()) is not None:
        raise UserError(f"device 'cuda' is not available, because {reason}")


def planned_bytes(resident: int, block: int, d: int, itemsize: int) -> int:
    """Return how much device memory a run with `d` features needs.

    Parameters
    ----------
    resident
        Rows that stay on the device.
    block
        Rows that are worked on at a time.
    d, itemsize
        Numbers of a row, and bytes of a number.
    """
    numbers = resident * d + BLOCK_BUFFERS * block * d + VECTORS * block + SQUARE_MATRICES * d * d
    return numbers * itemsize


class CudaBackend:
    """Row-major CuPy arrays on one device, in the order of the default stream."""

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
        """Whether the rows can stay on the device; raises if they cannot even be streamed."""
        itemsize = self.dtype.itemsize
        block = min(n, max(self.block_rows, self.block_bytes // (d * itemsize)))
        # The first rows of a run are its training rows: what the steps need is planned with them.
        working = planned_bytes(0, block, d, itemsize) if d not in self._planned else 0
        self._planned.add(d)
        rows, block_of_rows = n * d * itemsize, block * d * itemsize
        if rows + working < CHECKED_FROM:
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

    # CuPy exposes no TRMM: these are GEMMs that multiply the zeros as well.

    def times_lower(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        return self.xp.matmul(rows, lower, out=out)

    def times_lower_t(self, rows: Array, lower: Array, out: Array | None = None) -> Array:
        return self.xp.matmul(rows, lower.T, out=out)

    def lower_times_lower(self, left: Array, right: Array) -> Array:
        return self.lower(self.xp.matmul(left, right))

    def row_norms(self, rows: Array) -> Array:
        return self._square_sum(rows, axis=-1)

    def invert_lower(self, lower: Array) -> Array:
        from cupyx.scipy.linalg import solve_triangular

        # A solve leaves column-major results; a copy costs less than what follows would.
        inverse = solve_triangular(lower, self.identity(len(lower)), lower=True)
        return self.xp.ascontiguousarray(self.lower(inverse))

    def add_gram(self, total: Array, rows: Array, weights: Array, buffer: Array) -> Array:
        # A GEMM takes weights of either sign as they are. The CPU halves the work by SYRK, but has
        # to look at the signs for that, and looking would wait for the device.
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
        return None  # blocks are large here, and calls are queued: there is nothing to save

    def memory(self) -> Memory:
        used = self.xp.get_default_memory_pool().total_bytes()
        return Memory(int(used), int(self._device.mem_info[1]))


class _Launcher:
    """One of the kernels of `gvibench.numerics.expectations.cuda`, with its table on the device."""

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
        # The kernel trusts its arguments; a wrong one would overwrite memory.
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
    """Seconds between two events in the stream: the work itself, not its submission."""

    def __init__(self) -> None:
        import cupy

        self._cuda = cupy.cuda
        self._pieces: list[tuple[Any, Any]] = []

    def start(self) -> None:
        first, last = self._cuda.Event(), self._cuda.Event()
        self._pieces.append((first, last))
        first.record()

    def stop(self) -> None:
        self._pieces[-1][1].record()

    def read(self) -> float:
        pieces, self._pieces = self._pieces, []
        if pieces:
            pieces[-1][1].synchronize()
        milliseconds: float = sum(self._cuda.get_elapsed_time(*piece) for piece in pieces)
        return milliseconds / 1000


@functools.cache
def _claimed_device() -> Any:
    """Return the device of this process, claimed on first use and kept until it ends."""
    import cupy

    count = cupy.cuda.runtime.getDeviceCount()  # of those that CUDA_VISIBLE_DEVICES shows
    names = [str(cupy.cuda.Device(index).pci_bus_id) for index in range(count)]
    index, lock = claim(names, cache_dir() / "devices")
    device = cupy.cuda.Device(index)
    _locks.append(lock)
    return device


_locks: list[Any] = []  # open as long as the process lives


@functools.cache
def _module() -> Any:
    import cupy

    from gvibench.numerics.expectations.cuda import COMPILE_OPTIONS, SOURCE_FILE

    return cupy.RawModule(code=SOURCE_FILE.read_text(), options=COMPILE_OPTIONS)


@functools.cache
def _constant(kind: str, d: int, dtype: str, device: int) -> Array:
    """Return a matrix that is made once per size and must not be written to."""
    import cupy

    identity = cupy.eye(d, dtype=dtype)
    return identity if kind == "identity" else cupy.tri(d, dtype=dtype) - 0.5 * identity


def _potrf(matrix: Array) -> tuple[Array, Array]:
    """Return cuSOLVER's Cholesky factor in the lower triangle, and its status, on the device.

    `cupy.linalg.cholesky` either reads the status, and so waits for the device, or drops it.
    """
    import cupy
    from cupy.cuda import device
    from cupy_backends.cuda.libs import cublas, cusolver

    factor = matrix.astype(matrix.dtype, order="C", copy=True)
    d = len(factor)
    single = factor.dtype == np.float32
    potrf = cusolver.spotrf if single else cusolver.dpotrf
    workspace_size = cusolver.spotrf_bufferSize if single else cusolver.dpotrf_bufferSize
    # Column-major eyes see the transpose: its upper triangle is our lower one.
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
