"""Compare the CUDA backend, on a simulated device, with the NumPy backend.

docs/gpu.md lists what only a real device can show: speed, streams and the behaviour of cuSOLVER.
"""

import contextlib
import importlib.util

import numpy as np
import pytest

from gvibench import models, solvers
from gvibench import numerics as backends
from gvibench.check.strict_backend import TransferError
from gvibench.engine.execute import execute
from gvibench.errors import UserError
from gvibench.numerics import cuda_backend, expectations
from gvibench.numerics.cuda_backend import CudaBackend, planned_bytes
from gvibench.numerics.numpy_backend import NumpyBackend
from gvibench.numerics.streamed_rows import StreamedRows
from gvibench.registry import SOLVERS
from gvibench.store.prepared import Prepared
from numerics import cuda_on_cpu
from problems import rows, spec


@pytest.fixture
def _unknown_devices():
    cuda_backend.why_unavailable.cache_clear()
    yield
    cuda_backend.why_unavailable.cache_clear()


# Selection


@pytest.mark.usefixtures("_unknown_devices")
def test_without_cupy(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert backends.select("auto").name == "cpu"
    with pytest.raises(UserError, match=r"CuPy is not installed: pip install 'gvibench\[gpu\]'"):
        backends.select("cuda")


def test_without_device(monkeypatch, stand_in):
    monkeypatch.setattr(stand_in.cuda, "is_available", lambda: False)
    assert backends.select("auto").name == "cpu"
    with pytest.raises(UserError, match="finds no device"):
        backends.select("cuda")


def test_with_device(stand_in):
    assert backends.select("auto").name == "cuda: stand-in"
    assert backends.select("cuda", "float32").dtype == np.float32
    assert backends.select("cpu").name == "cpu"


# Operations


def matrices():
    rng = np.random.default_rng(0)
    lower = np.tril(rng.standard_normal((5, 5))) + 3 * np.eye(5)
    return rng.standard_normal((9, 5)), lower, rng.standard_normal((5, 5))


def gram(b, x, low, m, buffer):
    total = b.add_gram(1.0 * b.identity(5), x, b.asarray(np.linspace(-1, 2, 9)), buffer)
    return b.lower(total)


CALLS = {
    "times_lower": lambda b, x, low, m: b.times_lower(x, low, b.xp.empty((9, 5), dtype=b.dtype)),
    "times_lower_t": lambda b, x, low, m: b.times_lower_t(x, low),
    "row_norms": lambda b, x, low, m: b.row_norms(x),
    "lower_times_lower": lambda b, x, low, m: b.lower_times_lower(low, low @ low),
    "lower": lambda b, x, low, m: b.lower(m),
    "half_lower": lambda b, x, low, m: b.half_lower(m),
    "mirror": lambda b, x, low, m: b.mirror(m),
    "identity": lambda b, x, low, m: b.identity(4),
    "cholesky": lambda b, x, low, m: b.cholesky(m @ m.T, "V"),
    "invert_lower": lambda b, x, low, m: b.invert_lower(low),
    "triangularise": lambda b, x, low, m: b.triangularise(m),
    "gram": lambda b, x, low, m: gram(b, x, low, m, b.xp.empty((9, 5), dtype=b.dtype)),
    "gram in place": lambda b, x, low, m: gram(b, x, low, m, x),
    "eigenvalues": lambda b, x, low, m: b.eigh(m @ m.T)[0],
}


@pytest.mark.parametrize("call", CALLS)
def test_operations_agree(stand_in, call):
    result, expected = (
        b.to_host(CALLS[call](b, *map(b.asarray, matrices())))
        for b in (CudaBackend(), NumpyBackend())
    )
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_factor_is_computed_in_its_own_type(stand_in, dtype):
    backend = CudaBackend(dtype)
    factor = backend.cholesky(backend.asarray(np.diag([4.0, 9.0])), "V")
    assert factor.dtype == dtype
    np.testing.assert_array_equal(backend.to_host(factor), np.diag([2.0, 3.0]))


def test_a_failed_factorisation_is_nan(stand_in):
    backend = CudaBackend()
    factor = backend.cholesky(backend.asarray(np.diag([1.0, -1.0, 1.0])), "V")
    assert np.isnan(backend.to_host(factor)).all()


@pytest.mark.parametrize("name", ["exact", "piecewise", "gauss-hermite"])
def test_expectations_agree(stand_in, name):
    expectation = expectations.build(name)
    mu, s2 = np.linspace(-5, 5, 1000), np.linspace(0, 9, 1000)
    backend = CudaBackend()
    results = backend.xp.empty((3, 1000))
    backend.expectation(expectation)(backend.asarray(mu), backend.asarray(s2), *results)
    np.testing.assert_allclose(backend.to_host(results), expectation(mu, s2), rtol=0, atol=1e-12)


def test_invalid_vectors_are_rejected(stand_in):
    evaluate = CudaBackend().expectation(expectations.build("exact"))
    good = np.ones(6)
    for bad in (np.ones(5), np.ones(6, np.float32), np.ones(12)[::2]):
        with pytest.raises(ValueError, match="five contiguous float64"):
            evaluate(good, bad, good, good, good)
    evaluate(*np.empty((5, 0)))  # must not launch a grid of zero blocks


# Runs


@contextlib.contextmanager
def sealed(wanted):
    """Forbid transfers and reads of values. This has no effect on the CPU backend."""
    cuda_on_cpu.DeviceArray.sealed = wanted
    try:
        yield
    finally:
        cuda_on_cpu.DeviceArray.sealed = False


def test_reads_and_transfers_are_errors(stand_in):
    backend = CudaBackend()
    array = backend.asarray(np.ones(3))
    reads = (lambda: float(array[0]), lambda: bool(array[0] > 0), lambda: list(array))
    for read in (*reads, lambda: backend.to_host(array), lambda: backend.asarray(np.ones(3))):
        with sealed(True), pytest.raises(TransferError):
            read()
    for mix in (lambda: array + np.ones(3), lambda: np.float64(2) * array):
        with pytest.raises(TransferError):
            mix()


def steps(backend, solver, data, count=4, streamed=False, **changes):
    given = spec(solver=solver, step=0.01, **changes)
    model = models.build(given, backend, *data)
    configured = solvers.create(solver, {})
    mean = backend.asarray(np.full(4, 0.1))
    with sealed(
        not SOLVERS.load(solver).adaptive and given.expectation != "stochastic" and not streamed
    ):
        state = configured.init(model, mean, 0.5)
        for _ in range(count):
            state = configured.step(state, model, given.step)
    return [
        backend.to_host(array)
        for array in (
            state.mean,
            state.factor.covariance_lower(),
            model.metrics(state.mean, state.factor, state.oracle),
        )
    ]


@pytest.mark.parametrize("solver", sorted(SOLVERS.built_in))
def test_runs_agree(stand_in, solver):
    data = rows(), rows(n=25, seed=1)
    kind = SOLVERS.load(solver)
    changes = {**kind.defaults, "count": 4 if kind.has_slope() or kind.has_step else 1}
    results, expected = (steps(b, solver, data, **changes) for b in (CudaBackend(), NumpyBackend()))
    for result, truth in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, truth, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("solver", ["vn", "sr-vn", "bw-gd", "gd-chol", "fb-gvi"])
def test_float32_stays_float32(stand_in, solver):
    data = rows(), rows(n=25, seed=1)
    single = CudaBackend("float32")
    given = spec(solver=solver, step=0.01)
    model = models.build(given, single, *data)
    configured = solvers.create(solver, {})
    state = configured.init(model, single.asarray(np.full(4, 0.1)), 0.5)
    state = configured.step(state, model, given.step)
    oracle = state.oracle
    for array in (state.mean, state.factor.lower, oracle.gradient, oracle.curvature, oracle.value):
        assert array.dtype == np.float32
    results, expected = (steps(b, solver, data) for b in (single, NumpyBackend()))
    for result, truth in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, truth, rtol=1e-4, atol=1e-4)


def whole_run(**changes):
    real = changes.get("model") == "linear"
    train, test = rows(real=real), rows(n=25, seed=1, real=real)
    data = Prepared(spec().data, train.x, train.y, test.x, test.y, {})
    return execute(spec(**{"step": 0.01, "iterations": 20, **changes}), data)


@pytest.mark.parametrize("expectation", ["exact", "piecewise", "stochastic"])
def test_whole_runs_agree(stand_in, expectation):
    trace, expected = (whole_run(device=on, expectation=expectation) for on in ("cuda", "cpu"))
    assert trace.attrs["device"] == "cuda: stand-in"
    assert trace.iteration.tolist() == expected.iteration.tolist()
    for name, values in expected.scalars.items():
        if name != "seconds":
            np.testing.assert_allclose(trace.scalars[name], values, rtol=1e-9, atol=1e-9)
    # Simulated events are a millisecond apart, so the times must come from the events.
    np.testing.assert_allclose(np.diff(trace.scalars["seconds"]), 1e-3 * np.diff(trace.iteration))


def test_a_failed_factorisation_ends_the_run(stand_in):
    trace, expected = (whole_run(device=on, solver="gd", step=10.0) for on in ("cuda", "cpu"))
    assert trace.attrs["status"] == expected.attrs["status"] == "diverged"
    assert trace.iteration.tolist() == expected.iteration.tolist()
    assert "at iteration 1: the objective is not finite" in trace.attrs["reason"]


@pytest.fixture
def transfers(stand_in, monkeypatch):
    """The number of values in each transfer to the host."""
    sizes = []
    to_host = CudaBackend.to_host
    monkeypatch.setattr(
        CudaBackend, "to_host", lambda self, x: (sizes.append(np.size(x)), to_host(self, x))[1]
    )
    return sizes


def test_a_run_reads_the_objectives_of_several_steps_together(transfers):
    whole_run(device="cuda", iterations=40, record_every=40, snapshots=0)
    metrics = 7
    assert transfers == [metrics, 16, 16, 8, metrics]


def diverging_run(**changes):
    return whole_run(model="linear", solver="bw-gd", iterations=60, record_every=60, **changes)


@pytest.mark.parametrize(("step", "last"), [(0.04, 36), (0.06, 8), (0.1, 4), (20.0, 1)])
def test_divergence_between_reads_is_reported_at_its_iteration(stand_in, step, last):
    trace, expected = (diverging_run(device=on, step=step) for on in ("cuda", "cpu"))
    assert trace.attrs["reason"] == expected.attrs["reason"]
    assert f"at iteration {last + 1}: the objective has blown up" in trace.attrs["reason"]
    assert trace.iteration.tolist() == expected.iteration.tolist() == [0, last]
    for name in ("objective", "grad_norm"):
        np.testing.assert_allclose(trace.scalars[name], expected.scalars[name], rtol=1e-9)
    np.testing.assert_allclose(trace.mean, expected.mean, rtol=1e-9)


def test_time_of_repeated_steps_is_counted_once(stand_in):
    trace = diverging_run(device="cuda", step=0.06)
    np.testing.assert_allclose(trace.scalars["seconds"], 1e-3 * trace.iteration)


# Memory


@pytest.fixture
def small_device(stand_in, monkeypatch):
    """A function that sets the free memory of the device. All plans are checked."""
    monkeypatch.setattr(cuda_backend, "MIN_CHECKED_BYTES", 0)
    monkeypatch.setattr(CudaBackend, "block_bytes", 10 * 4 * 8)
    return lambda free: monkeypatch.setattr(cuda_on_cpu.Device, "free", free)


def test_planned_bytes():
    assert planned_bytes(1000, 10, 4, 8) == 8 * (1000 * 4 + 4 * 10 * 4 + 8 * 10 + 16 * 16)


@pytest.mark.parametrize("expectation", ["exact", "stochastic"])
@pytest.mark.parametrize("solver", ["vn", "sr-vn"])
def test_rows_that_do_not_fit_are_streamed(small_device, solver, expectation):
    data = rows(), rows(n=25, seed=1)
    whole = steps(CudaBackend(), solver, data, expectation=expectation, batch=7, samples=3)
    small_device(planned_bytes(10, 10, 4, 8))
    assert isinstance(CudaBackend().asarray(data[0].x), StreamedRows)
    streamed = steps(
        CudaBackend(), solver, data, streamed=True, expectation=expectation, batch=7, samples=3
    )
    for result, truth in zip(streamed, whole, strict=True):
        np.testing.assert_array_equal(result, truth)


def test_memory_of_the_steps_is_planned_only_with_the_training_rows(small_device):
    backend = CudaBackend()
    small_device(planned_bytes(40, 10, 4, 8))
    assert not isinstance(backend.asarray(rows().x), StreamedRows)
    small_device(25 * 4 * 8)  # the plan has reserved the rest
    assert not isinstance(backend.asarray(rows(n=25).x), StreamedRows)


def test_the_error_for_a_run_that_does_not_fit_has_numbers(small_device):
    small_device(2000)
    with pytest.raises(UserError, match=r"needs about 0\.00 GiB .* 40 rows .* 0\.00 GiB are free"):
        CudaBackend().asarray(rows().x)
