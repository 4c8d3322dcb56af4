"""Test that no step of a solver moves data between host and device or waits for a value."""

import array_api_strict as strict
import numpy as np
import pytest

from gvibench import models, solvers
from gvibench.check.strict_backend import DEVICE, StrictBackend, TransferError, watched_arrays
from gvibench.engine.recorder import Recorder
from gvibench.numerics.numpy_backend import NumpyBackend
from gvibench.spec.endings import Descent
from problems import rows, spec

SOLVERS = ["vn", "sr-vn", "bw-gd", "gd", "gd-chol", "svgd-density", "fb-gvi"]
MODELS = ["logistic", "non-convex", "linear"]


@pytest.fixture(autouse=True)
def _no_reads():
    with watched_arrays():
        yield


def run(backend, solver, model_name, count=3):
    expectation = "exact" if model_name == "linear" else "gauss-hermite"
    given = spec(solver=solver, model=model_name, expectation=expectation, step=0.002)
    data = [rows(real=model_name == "linear", seed=seed) for seed in (0, 1)]
    model = models.build(given, backend, *data)
    configured = solvers.configure(solver, {})
    mean = backend.asarray(np.full(4, 0.1))
    recorder = Recorder(given, model)
    recorder.descent = Descent.start(1e9, 0.0)  # `start` would read values
    backend.sealed = True
    state = configured.init(model, mean, 0.5)
    objectives = []
    for _ in range(count):
        state = configured.step(state, model, given.step)
        objectives.append(recorder.objective_of(state))
    backend.sealed = False
    recorder.check(objectives, state.iteration)
    stacked = backend.xp.stack(objectives)
    return [backend.to_host(array) for array in (state.mean, state.factor.lower, stacked)]


@pytest.mark.parametrize("model_name", MODELS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_steps_stay_on_the_device(solver, model_name):
    results = run(StrictBackend(), solver, model_name)
    expected = run(NumpyBackend(), solver, model_name)
    for result, truth in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, truth, rtol=1e-9, atol=1e-9)


READS = {
    "float": float,
    "int": lambda x: int(x),
    "bool": bool,
    "if": lambda x: 1 if x > 0 else 2,
    "index": lambda x: [1, 2, 3][strict.astype(x, strict.int64)],
    "iteration": lambda x: list(x[None]),
    "dlpack": np.from_dlpack,
    "NumPy function": np.exp,
    "NumPy array": np.asarray,
    "NumPy operand": lambda x: np.ones(3) * x,
    "NumPy scalar": lambda x: x * np.float64(2),
    "other device": lambda x: x + strict.asarray(1.0),
}


@pytest.mark.parametrize("read", READS)
def test_reads_and_transfers_are_errors(read):
    with pytest.raises((TransferError, TypeError, ValueError, RuntimeError, BufferError)):
        READS[read](strict.asarray(1.0, device=DEVICE))
