"""Test that runs on the CPU import no large package if their kernels are in the cache."""

import subprocess
import sys

import pytest

LARGE = ["scipy", "numba", "llvmlite", "sklearn", "pandas", "xarray", "matplotlib", "dask"]

PROGRAM = """
import sys
import numpy as np
from gvibench import models, numerics, solvers
from gvibench.models import Rows
from gvibench.spec.run import DataSpec, RunSpec

expectation, *large = sys.argv[1:]
backend = numerics.select("cpu")
for features in (5, 60):
    rows = Rows(np.ones((40, features)), np.tile([1.0, -1.0], 20))
    data = DataSpec(dataset="test")
    spec = RunSpec(data=data, beta=1.0, solver="vn", step=0.01, expectation=expectation)
    model = models.build(spec, backend, rows, rows)
    solver = solvers.create("vn", {})
    state = solver.init(model, backend.asarray(np.zeros(features)), 0.5)
    state = solver.step(state, model, spec.step)
    model.metrics(state.mean, state.factor, state.oracle)
    state.factor.covariance_lower()
print([name for name in large if name in sys.modules])
"""


def run(expectation):
    command = [sys.executable, "-c", PROGRAM, expectation, *LARGE]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "expectation",
    [
        "exact",
        pytest.param("piecewise", marks=pytest.mark.slow),
        pytest.param("gauss-hermite", marks=pytest.mark.slow),
    ],
)
def test_a_step_imports_no_large_package(expectation):
    run(expectation)  # compiles the kernels that are not in the cache
    assert run(expectation) == "[]"
