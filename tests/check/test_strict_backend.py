"""No step of a solver moves data between host and device, or waits for a value."""

import array_api_strict as strict
import numpy as np
import pytest

from gvibench import models, solvers
from gvibench.check.strict_backend import DEVICE, StrictBackend, TransferError, watched_arrays
from gvibench.engine.endings import Descent
from gvibench.engine.recorder import Recorder
from gvibench.numerics.numpy_backend import NumpyBackend
from problems import rows, spec

SOLVERS = ["vn", "sr-vn", "bw-gd", "gd", "gd-chol", "svgd-density", "fb-gvi"]
MODELS = ["logistic", "non-convex", "linear"]


@pytest.fixture(autouse=True)
def no_looking():
    with watched_arrays():
        yield


def run(backend, solver, model_name, count=3):
    expectation = "exact" if model_name == "linear" else "gauss-hermite"
    given = spec(solver=solver, model=model_name, expectation=expectation, step=0.002)
    data = [rows(real=model_name == "linear", seed=seed) for seed in (0, 1)]
    model = models.build(given, backend, *data)
    configured = solvers.create(solver, {})
    mean = backend.asarray(np.full(4, 0.1))
    recorder = Recorder(given, model)
    recorder.descent = Descent.start(1e9, 0.0)  # `start` would measure, which looks at values
    backend.sealed = True
    state = configured.init(model, mean, 0.5)
    objectives = []
    for _ in range(count):
        state = configured.step(state, model, given.step)
        objectives.append(recorder.objectives_of(state).objective)
    backend.sealed = False
    recorder.check(objectives, state.iteration)
    stacked = backend.xp.stack(objectives)
    return [backend.to_host(array) for array in (state.mean, state.factor.lower, stacked)]


@pytest.mark.parametrize("model_name", MODELS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_steps_stay_on_the_device(solver, model_name):
    found = run(StrictBackend(), solver, model_name)
    expected = run(NumpyBackend(), solver, model_name)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


LOOKS = {
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


@pytest.mark.parametrize("look", LOOKS)
def test_the_device_notices(look):
    with pytest.raises((TransferError, TypeError, ValueError, RuntimeError, BufferError)):
        LOOKS[look](strict.asarray(1.0, device=DEVICE))
