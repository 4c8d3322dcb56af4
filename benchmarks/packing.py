"""Compare tuning trials on one data set that are run one by one and in lockstep.

    python benchmarks/packing.py

Trials that differ in their seed share X. With few features gvibench stacks their arrays, so the
overhead of a step occurs once for all of them. This benchmark times complete trials, including
recording. With many features, the products XC of all runs could be one large GEMM. It cannot
exploit that C is triangular, the Gram matrix of each run has its own weights, and the rows of all
runs leave the cache before they are used again. This benchmark times steps of SR-VN.
"""

from typing import NamedTuple

import numpy as np
from measure import build, interleaved, synthetic_rows, table
from threadpoolctl import threadpool_limits

from gvibench import numerics as backends
from gvibench import solvers
from gvibench.engine.lockstep import run_trials
from gvibench.models.protocols import Rows
from gvibench.numerics import expectations
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.prepared import Prepared

RUNS = 8
STACKED = ((614, 8), (552, 14), (455, 30))
SOLVERS = ("vn", "sr-vn", "bw-gd")
MULTIPLIED = ((8844, 54), (8844, 68), (6499, 112))
ITERATIONS = 200


class Result(NamedTuple):
    """Seconds of one iteration of one run."""

    n: int
    d: int
    solver: str
    method: str
    alone: float
    together: float


def stacked(n: int, d: int, solver: str) -> Result:
    """Time complete trials, after checking that both methods give the same result."""
    rows, data = synthetic_rows(n, d), DataSpec(dataset="synthetic")
    prepared = Prepared(data, rows.x, rows.y, rows.x[: n // 4], rows.y[: n // 4], {})
    specs = [
        RunSpec(
            data=data,
            beta=1.0,
            solver=solver,
            step=1e-3,
            expectation="exact",
            iterations=ITERATIONS,
            record_every="log",
            seed=seed,
        )
        for seed in range(RUNS)
    ]

    def alone() -> list:
        return [run for spec in specs for run in run_trials([spec], prepared)]

    def together() -> list:
        return list(run_trials(specs, prepared))

    for single, stacked_run in zip(alone(), together(), strict=True):
        np.testing.assert_allclose(stacked_run.state.mean, single.state.mean, rtol=1e-9)
    times = interleaved({"alone": alone, "together": together}, seconds=1.0)
    alone_each, together_each = (seconds / RUNS / ITERATIONS for seconds in times.values())
    return Result(n, d, solver, "stacked (used by gvibench)", alone_each, together_each)


class Multiplied:
    """Stacked states of several runs, with an SR-VN step that multiplies by one GEMM."""

    def __init__(self, rows: Rows, means: np.ndarray, beta: float) -> None:
        d = rows.x.shape[1]
        self.a, self.m, self.beta = -rows.y[:, None] * rows.x, means, beta
        self.c = np.broadcast_to(np.eye(d), (len(means), d, d)).copy()
        self.half = np.tri(d) - 0.5 * np.eye(d)
        self.expect = expectations.build("exact").evaluate

    def step(self, rho: float) -> None:
        a, c, m = self.a, self.c, self.m
        (n, d), runs = a.shape, len(m)
        white = (a @ c.transpose(1, 0, 2).reshape(d, -1)).reshape(n, runs, d)
        mu, s2 = (a @ m.T).ravel(), np.vecdot(white, white).ravel()
        f0, f1, f2 = np.empty((3, n * runs))
        self.expect(mu, s2, f0, f1, f2)
        g = f1.reshape(n, runs).T @ a + self.beta * m
        weighted = white * f2.reshape(n, runs, 1)
        k = weighted.transpose(1, 2, 0) @ white.transpose(1, 0, 2)
        k += self.beta * (c.transpose(0, 2, 1) @ c) - np.eye(d)
        self.m = m - rho * np.matvec(c, np.vecmat(g, c))
        self.c = c - rho * (c @ (k * self.half))


def multiplied(n: int, d: int) -> Result:
    """Time steps, after checking that both methods give the same iterates."""
    rows, rho = synthetic_rows(n, d), 1e-2 / n
    model, solver = build(rows, "sr-vn"), solvers.create("sr-vn", {})
    means = 0.1 * np.random.default_rng(1).standard_normal((RUNS, d))
    states = [solver.init(model, mean, 1.0) for mean in means]
    together = Multiplied(rows, means, model.beta)

    def one_by_one() -> None:
        states[:] = [solver.step(state, model, rho) for state in states]

    for _ in range(3):
        one_by_one()
        together.step(rho)
    means = np.array([state.mean for state in states])
    np.testing.assert_allclose(means, together.m, rtol=1e-9, atol=1e-12)
    times = interleaved({"alone": one_by_one, "together": lambda: together.step(rho)}, seconds=1.0)
    alone_each, together_each = (seconds / RUNS for seconds in times.values())
    return Result(n, d, "sr-vn", "one GEMM (not used)", alone_each, together_each)


def measure() -> list[Result]:
    results = [stacked(*shape, solver) for shape in STACKED for solver in SOLVERS]
    return results + [multiplied(*shape) for shape in MULTIPLIED]


def as_table(results: list[Result]) -> str:
    lines = []
    for r in results:
        milliseconds = (f"{1e3 * seconds:.3f}" for seconds in (r.alone, r.together))
        ratio = f"{r.together / r.alone:.2f}"
        lines.append([f"{r.n:,} x {r.d}", r.solver, r.method, *milliseconds, ratio])
    head = ["n x d", "solver", "method", "one by one, ms", "together, ms"]
    return table([*head, "together / one by one"], lines)


if __name__ == "__main__":
    backends.select("cpu")  # load the BLAS before limiting its threads
    with threadpool_limits(1):
        print(as_table(measure()))
