"""Check and time a device (`gvibench doctor`).

Each operation of the backend is compared with dense NumPy, each expectation with quadrature and
with the CPU kernels, and a few steps of each solver with the same steps on the CPU, where rows are
processed in blocks of another size. Then the kernels and an iteration are timed.
"""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_info

from gvibench import models, solvers
from gvibench import numerics as backends
from gvibench.errors import Diverged, Stopped
from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.numerics import expectations
from gvibench.numerics.base import Backend
from gvibench.numerics.expectations.reference import reference
from gvibench.numerics.numpy_backend import NumpyBackend
from gvibench.numerics.streamed_rows import StreamedRows
from gvibench.registry import EXPECTATIONS, SOLVERS
from gvibench.solvers.base import Solver, State
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.provenance import machine, versions

__all__ = ["Check", "check_device"]

Array = np.ndarray

STEPS = 5
STEP = 0.002
TIMED_SOLVERS = ("vn", "sr-vn", "bw-gd")
TIMED_ROWS, TIMED_FEATURES = 20_000, 100
TIMED_POINTS = 1_000_000
REPEATS = 5


class Check(NamedTuple):
    """Difference between a computed and an expected result.

    The difference is relative for expected values larger than one.
    """

    name: str
    difference: float
    tolerance: float
    problem: str = ""
    """Error that prevented the comparison, if any."""

    @property
    def passed(self) -> bool:
        """Whether the difference is within the tolerance. NaN is not."""
        return self.difference <= self.tolerance

    def __str__(self) -> str:
        verdict = "ok" if self.passed else "FAILED"
        outcome = self.problem or f"{self.difference:8.1e}  (at most {self.tolerance:g})"
        return f"  {verdict:6}  {self.name:42} {outcome}"


def check_device(device: str) -> int:
    """Check and time a device (`cpu` or `cuda`) and return the number of failed checks."""
    backend = backends.select(device)
    print("\n".join(_description(backend)))
    failed = 0
    with np.errstate(all="ignore"):
        for title, checks in (
            ("Operations, against dense NumPy", _operations(backend)),
            ("Expectations", _expectations(device)),
            (f"{STEPS} steps of each solver, against the CPU", _solvers(device)),
        ):
            print(f"\n{title}")
            for check in checks:
                print(check)
                failed += not check.passed
        if not failed:
            print(f"\nTimes, medians of {REPEATS}")
            for line in _times(backend):
                print(f"  {line}")
    used, total = backend.memory()
    print(f"\nmemory: {used / 2**20:.0f} MiB of {total / 2**20:.0f} MiB used")
    print(f"{backend.name}: {f'{failed} checks FAILED' if failed else 'all checks ok'}")
    return failed


def _check(
    name: str, tolerance: float, compute: Callable[[], Array], expect: Callable[[], Array]
) -> Check:
    try:
        computed, expected = compute(), expect()
    except Exception as error:  # a failed check, after which the others still run
        return Check(name, np.nan, tolerance, f"{type(error).__name__}: {error}")
    difference = np.abs(computed - expected) / np.maximum(1.0, np.abs(expected))
    return Check(name, float(np.max(difference)), tolerance)


def _description(backend: Backend) -> Iterator[str]:
    info = machine()
    yield f"device: {backend.name}"
    yield f"machine: {info['host']}, {info['processor']}, {info['system']}"
    yield "versions: " + ", ".join(f"{name} {text}" for name, text in versions().items())
    for package in ("cupy-cuda13x", "cupy-cuda12x", "cupy"):
        try:
            yield f"CuPy: {package} {version(package)}"
        except PackageNotFoundError:
            continue
    for pool in threadpool_info():
        yield f"BLAS: {pool['internal_api']} {pool['version']}, {pool['num_threads']} threads"


def _operations(backend: Backend) -> Iterator[Check]:
    for name, (call, arguments, expected) in _operation_cases(backend).items():

        def computed(call: Any = call, arguments: tuple[Array, ...] = arguments) -> Array:
            return backend.to_host(call(*map(backend.asarray, arguments)))

        yield _check(name, 1e-9, computed, lambda expected=expected: expected)  # type: ignore[misc]


def _operation_cases(
    backend: Backend,
) -> dict[str, tuple[Callable[..., Any], tuple[Array, ...], Array]]:
    """Return the function, the arguments and the expected result of each operation."""
    rng = np.random.default_rng(0)
    d = 30
    x, square = rng.standard_normal((70, d)), rng.standard_normal((d, d))
    low = np.tril(square) / d + np.eye(d)
    positive = square @ square.T + np.eye(d)
    indefinite = np.diag(np.linspace(-1.0, 1.0, d))
    weights = np.linspace(-1.0, 2.0, len(x))
    half = np.tril(square) - np.diag(np.diag(square)) / 2
    gram = (x.T * weights) @ x
    root = np.linalg.cholesky(square @ square.T)
    factor, has_no_factor = partial(_factor, backend), partial(_has_no_factor, backend)
    return {
        "rows times a triangle": (backend.times_lower, (x, low), x @ low),
        "rows times its transpose": (backend.times_lower_t, (x, low), x @ low.T),
        "triangle times triangle": (backend.lower_times_lower, (low, low), low @ low),
        "triangular inverse": (backend.invert_lower, (low,), np.linalg.inv(low)),
        "norms of rows": (backend.row_norms, (x,), np.sum(x * x, axis=1)),
        "weighted Gram matrix": (partial(_gram, backend), (0 * square, x, weights), gram),
        "Cholesky factor": (factor, (positive,), np.linalg.cholesky(positive)),
        "Cholesky factor that does not exist": (has_no_factor, (indefinite,), np.ones((d, d))),
        "half of the lower triangle": (backend.half_lower, (square,), half),
        "root made triangular": (backend.triangularise, (square,), root),
        "eigenvalues and eigenvectors": (partial(_rebuild, backend), (positive,), positive),
    }


def _gram(backend: Backend, total: Any, rows: Any, weights: Any) -> Any:
    return backend.mirror(backend.add_gram(total, rows, weights, rows))


def _rebuild(backend: Backend, matrix: Any) -> Any:
    """Return the matrix computed from its eigenvalues and eigenvectors."""
    values, vectors = backend.eigh(matrix)
    return (vectors * values) @ vectors.T


def _factor(backend: Backend, matrix: Any) -> Any:
    return backend.cholesky(matrix, "the test matrix")


def _has_no_factor(backend: Backend, matrix: Any) -> Any:
    """Return ones if the factorisation raises an error or gives NaN, as it should."""
    try:
        return backend.xp.isnan(_factor(backend, matrix))
    except Diverged:
        return backend.asarray(np.ones(matrix.shape))


def _points(dtype: str) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    s2 = 10.0 ** rng.uniform(-6, 6, 5000)
    s2[:100] = 0.0
    mu = rng.standard_normal(5000) * np.sqrt(1 + s2) * 3
    return mu.astype(dtype), s2.astype(dtype)


def _evaluate(backend: Backend, name: str, mu: Array, s2: Array) -> Array:
    results = backend.xp.empty((3, len(mu)), dtype=backend.dtype)
    evaluate = backend.expectation(expectations.build(name))
    evaluate(backend.asarray(mu), backend.asarray(s2), results[0], results[1], results[2])
    return backend.to_host(results)


def _expectations(device: str) -> Iterator[Check]:
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-6)):
        backend = backends.select(device, dtype)
        mu, s2 = (v.astype(np.float64) for v in _points(dtype))
        for name in EXPECTATIONS.built_in:
            computed = partial(_evaluate, backend, name, mu, s2)
            if name == "exact" and dtype == "float64":
                expected = partial(lambda *at: np.array(reference(*at)), mu, s2)
                yield _check("exact, float64, against quadrature", 1e-10, computed, expected)
            if device != "cpu" or dtype != "float64":
                on_cpu = partial(_evaluate, NumpyBackend(), name, mu, s2)
                yield _check(f"{name}, {dtype}, against the CPU", tolerance, computed, on_cpu)


def _problem(backend: Backend, solver: str, n: int, d: int) -> tuple[Model, Solver, State]:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((n, d)) / np.sqrt(d)
    y = np.where(x @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1.0, -1.0)
    spec = RunSpec(
        data=DataSpec(dataset="doctor"),
        beta=1.0,
        solver=solver,
        step=STEP,
        **{"expectation": "exact", **SOLVERS.load(solver).defaults},
    )
    model = models.build(spec, backend, Rows(x, y), Rows(x[: n // 4], y[: n // 4]))
    configured = solvers.create(solver, {})
    mean = backend.asarray(0.1 * rng.standard_normal(d))
    return model, configured, configured.init(model, mean, 0.5)


def _solvers(device: str) -> Iterator[Check]:
    def run(backend: Backend, name: str, streamed: bool = False) -> Array:
        model, solver, state = _problem(backend, name, 200, 8)
        if streamed:
            rows = backend.to_host(model.train.x)
            streaming = StreamedRows(rows, backend.asarray, backend.to_host)
            model.train = model.train._replace(x=streaming)
        for _ in range(STEPS):
            with contextlib.suppress(Stopped):
                state = solver.step(state, model, STEP)
        metrics = model.metrics(state.mean, state.factor, state.oracle)
        results = (state.mean, state.factor.covariance_lower(), metrics)
        return np.concatenate([backend.to_host(part).ravel() for part in results])

    backend = backends.select(device)
    small_blocks, on_cpu = backends.select(device), NumpyBackend()
    small_blocks.block_bytes = 8 * 8 * 27
    on_cpu.block_bytes, on_cpu.block_rows = 8 * 8 * 33, 1
    for name in SOLVERS.built_in:
        yield _check(name, 1e-9, partial(run, backend, name), partial(run, on_cpu, name))
    streamed = partial(run, small_blocks, "vn", streamed=True)
    yield _check("vn, streamed rows", 1e-9, streamed, partial(run, on_cpu, "vn"))


def _times(backend: Backend) -> Iterator[str]:
    mu = backend.asarray(np.linspace(-5.0, 5.0, TIMED_POINTS))
    s2 = backend.asarray(np.linspace(0.1, 9.0, TIMED_POINTS))
    f0, f1, f2 = (backend.xp.empty(TIMED_POINTS, dtype=backend.dtype) for _ in range(3))
    for name in EXPECTATIONS.built_in:
        evaluate = backend.expectation(expectations.build(name))
        seconds = _seconds(backend, partial(evaluate, mu, s2, f0, f1, f2))
        yield f"{name:42} {seconds / TIMED_POINTS * 1e9:8.2f} ns per point"
    for name in TIMED_SOLVERS:
        model, solver, state = _problem(backend, name, TIMED_ROWS, TIMED_FEATURES)
        seconds = _seconds(backend, partial(solver.step, state, model, STEP))
        label = f"{name}, {TIMED_ROWS} rows of {TIMED_FEATURES} features"
        yield f"{label:42} {seconds * 1e3:8.2f} ms per iteration"


def _seconds(backend: Backend, work: Callable[[], Any]) -> float:
    """Return the median time of a few calls."""
    work()  # compile and allocate buffers
    timer = backend.timer()
    measured = []
    for _ in range(REPEATS):
        timer.start()
        work()
        timer.stop()
        measured.append(timer.read())
    return float(np.median(measured))
