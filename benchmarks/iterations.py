"""Compare the time of an iteration with the BLAS floor and with straightforward code.

    python benchmarks/iterations.py [DATASET ...]

The floor consists of the BLAS and LAPACK calls that no correct implementation can skip, on the same
rows: TRMM for the variances, SYRK for the curvature, two GEMV, and POTRF for vn. The yardstick adds
the compiled `exact` pass and one read and one write of X. LIBSVM data sets are downloaded on first
use (GVIBENCH_DATA names a local mirror). If a data set is not available, Gaussian rows of the same
size replace it.
"""

import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import plain_numpy
from measure import build, interleaved, real_rows, synthetic_rows, table
from scipy.linalg import blas, lapack
from threadpoolctl import threadpool_limits

from gvibench import numerics as backends
from gvibench import solvers
from gvibench.models.protocols import Rows
from gvibench.numerics import expectations
from gvibench.spec.paper_values import PAPER_STEPS

SIZES = {
    "diabetes_scale": (614, 8),
    "mushrooms": (6499, 112),
    "phishing": (8844, 68),
    "covtype": (500_000, 54),
    "mnist": (60_000, 784),
}
BETA = 1.0
LARGE = 1e7
"""Size n d^2 from which the ratio to the yardstick must be below its limit."""
LIMITS = {"vn": 1.3, "sr-vn": 1.3, "bw-gd": 1.5}
SMALL_LIMIT = 0.1
"""Maximum time of sr-vn relative to plain NumPy on small problems."""
SECONDS = 4.0
"""Time to measure each problem, for all implementations together."""

COVARIANCE = {"sr-vn": lambda c: c @ c.T, "vn": np.linalg.inv, "bw-gd": lambda v: v}
"""Covariance computed from the second iterate of the plain implementations."""


class Floor:
    """BLAS and LAPACK calls that no correct implementation can skip, on the same rows."""

    def __init__(self, rows: np.ndarray, solver: str) -> None:
        n, d = rows.shape
        self.rows, self.solver = rows, solver
        self.copy = rows.copy()
        self.lower = np.eye(d) + 0.01 / d * np.tri(d)
        self.gram = np.zeros((d, d))
        self.mean, self.weights = np.ones(d), np.full(n, 0.1)
        self.spd = self.lower @ self.lower.T + np.eye(d)
        self.mu, self.s2 = rows @ (self.mean / d), np.ones(n)
        self.out = np.empty((3, n))
        self.exact = expectations.build("exact")

    def blas(self) -> None:
        blas.dtrmm(1.0, self.lower.T, self.copy.T, side=0, lower=0, overwrite_b=1)
        blas.dsyrk(1.0, self.rows.T, beta=0.0, c=self.gram.T, lower=0, overwrite_c=1)
        _ = self.rows @ self.mean, self.weights @ self.rows
        if self.solver == "vn":
            lapack.dpotrf(self.spd, lower=1)

    def rest(self) -> None:
        np.copyto(self.copy, self.rows)
        self.exact.evaluate(self.mu, self.s2, *self.out)


class Result(NamedTuple):
    """Seconds of one iteration of one solver on one problem."""

    label: str
    n: int
    d: int
    solver: str
    ours: float
    floor: float
    yardstick: float
    numpy: float
    torch: float | None


def plain_steps(
    code: ModuleType, solver: str, rows: Rows, mean: np.ndarray, rho: float
) -> tuple[Callable[[], None], list[Any]]:
    """Return a function that takes a step with NumPy or PyTorch, and the iterate it updates."""
    pieces = expectations.build("piecewise").pieces
    signed = -rows.y[:, None] * rows.x
    iterate = [mean, np.eye(len(mean))]
    if code is plain_numpy:

        def expect(mu, s2):
            return plain_numpy.expect_pieces(mu, s2, pieces)

    else:
        expect = code.Pieces(pieces)
        signed, *iterate = map(code.to_torch, (signed, *iterate))
    step = getattr(code, solver.replace("-", "_"))

    def take() -> None:
        iterate[:] = step(signed, *iterate, rho, BETA, expect)[:2]

    return take, iterate


def our_steps(
    expectation: str, solver_id: str, rows: Rows, mean: np.ndarray, rho: float
) -> tuple[Callable[[], None], list[Any]]:
    """Return a function that takes a step with gvibench, and the state it updates."""
    model, solver = build(rows, solver_id, BETA, expectation), solvers.create(solver_id, {})
    state = [solver.init(model, mean, 1.0)]

    def take() -> None:
        state[0] = solver.step(state[0], model, rho)

    return take, state


def peers() -> dict[str, ModuleType]:
    """Return the straightforward implementations whose packages are installed."""
    implementations = {"numpy": plain_numpy}
    if importlib.util.find_spec("torch") is not None:
        import plain_torch

        implementations["torch"] = plain_torch
    return implementations


def compare(dataset: str, solver: str) -> Result:
    """Time one iteration, after checking that all implementations take the same step."""
    rows = real_rows(dataset)
    label = dataset if rows is not None else f"synthetic ({dataset})"
    rows = rows or synthetic_rows(*SIZES[dataset])
    (n, d), rho = rows.x.shape, PAPER_STEPS[dataset][solver]
    mean = 0.1 * np.random.default_rng(0).standard_normal(d)
    plain = {name: plain_steps(code, solver, rows, mean, rho) for name, code in peers().items()}

    take, state = our_steps("piecewise", solver, rows, mean, rho)
    take()
    lower = state[0].factor.covariance_lower()
    for take_plain, iterate in plain.values():
        take_plain()
        covariance = COVARIANCE[solver](np.asarray(iterate[1]))
        np.testing.assert_allclose(np.asarray(iterate[0]), state[0].mean, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(covariance, lower @ lower.T, rtol=1e-5, atol=1e-8)
    del take, state

    take, state = our_steps("exact", solver, rows, mean, rho)
    floor = Floor(rows.x, solver)
    functions = {"ours": take, "floor": floor.blas, "rest": floor.rest}
    functions |= {name: take_plain for name, (take_plain, _) in plain.items()}
    times = interleaved(functions, SECONDS)
    assert np.isfinite(state[0].oracle.value)  # timings after divergence mean nothing
    return Result(
        label,
        n,
        d,
        solver,
        times["ours"],
        times["floor"],
        times["floor"] + times["rest"],
        times["numpy"],
        times.get("torch"),
    )


def as_table(results: list[Result]) -> str:
    head = ["data set", "n x d", "solver", "ours / yardstick", "required", "ours / floor"]
    head += ["ours / NumPy", "ours / PyTorch", "ours, ms", "floor, ms", "yardstick, ms"]
    lines = []
    for r in results:
        milliseconds = (f"{1e3 * seconds:.3g}" for seconds in (r.ours, r.floor, r.yardstick))
        required = f"{LIMITS[r.solver]:g}" if r.n * r.d**2 >= LARGE else "-"
        yardstick, floor = (f"{r.ours / seconds:.2f}" for seconds in (r.yardstick, r.floor))
        numpy = f"{r.ours / r.numpy:.3f}"
        torch = "-" if r.torch is None else f"{r.ours / r.torch:.3f}"
        problem = [r.label, f"{r.n:,} x {r.d}", r.solver]
        lines.append([*problem, yardstick, required, floor, numpy, torch, *milliseconds])
    return table(head, lines)


def missed(results: list[Result]) -> list[str]:
    """Return a sentence for each requirement that is not met."""
    sentences = [
        f"{r.solver} on {r.label} takes {r.ours / r.yardstick:.2f} x the yardstick, "
        f"not {LIMITS[r.solver]:g} x."
        for r in results
        if r.n * r.d**2 >= LARGE and r.ours > LIMITS[r.solver] * r.yardstick
    ]
    sentences += [
        f"{r.solver} on {r.label} takes {r.ours / r.numpy:.3f} x the time of plain NumPy, "
        f"not {SMALL_LIMIT:g} x."
        for r in results
        if r.solver == "sr-vn" and r.n < 1000 and r.d < 20 and r.ours > SMALL_LIMIT * r.numpy
    ]
    return sentences


def measure(datasets: list[str]) -> list[Result]:
    return [compare(dataset, solver) for dataset in datasets for solver in LIMITS]


if __name__ == "__main__":
    backends.select("cpu")  # load the BLAS before limiting its threads
    with threadpool_limits(1):
        results = measure(sys.argv[1:] or list(SIZES))
    print(as_table(results), *missed(results), sep="\n")
