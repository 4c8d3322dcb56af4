"""What several runs of one data set gain by taking their steps together.

    python benchmarks/packing.py

Runs that differ in their seed share X. With few features gvibench stacks their arrays: what a step
costs beside its arithmetic is then paid once for all runs; measured are whole runs, records
included. With many features there is another way: the products XC of all runs as one large GEMM.
That GEMM cannot use that C is triangular, each run's Gram matrix has weights of its own, and the
rows of all runs leave the cache before they are used again; measured are steps of SR-VN.
"""

from typing import NamedTuple

import numpy as np
from measure import build, interleaved, synthetic_rows, table
from threadpoolctl import threadpool_limits

from gvibench import numerics as backends
from gvibench import solvers
from gvibench.engine.execute import execute, execute_lockstep
from gvibench.models import Rows
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
    way: str
    alone: float
    together: float


def stacked(n: int, d: int, solver: str) -> Result:
    """Time whole runs, which end at the same numbers."""
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
        return [execute(spec, prepared) for spec in specs]

    def together() -> list:
        return execute_lockstep(specs, prepared)

    for one, other in zip(alone(), together(), strict=True):
        assert other.attrs["lockstep_size"] == RUNS
        np.testing.assert_allclose(other.mean, one.mean, rtol=1e-9)
    found = interleaved({"alone": alone, "together": together}, seconds=1.0)
    alone_each, together_each = (seconds / RUNS / ITERATIONS for seconds in found.values())
    return Result(n, d, solver, "stacked, as gvibench does", alone_each, together_each)


class Multiplied:
    """The states of several runs in stacks, and their SR-VN step."""

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
    """Time steps, which give the same iterates."""
    rows, rho = synthetic_rows(n, d), 1e-2 / n
    model, solver = build(rows, "sr-vn"), solvers.configure("sr-vn", {})
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
    found = interleaved({"alone": one_by_one, "together": lambda: together.step(rho)}, seconds=1.0)
    alone_each, together_each = (seconds / RUNS for seconds in found.values())
    return Result(n, d, "sr-vn", "one GEMM, which gvibench does not", alone_each, together_each)


def measure() -> list[Result]:
    few = [stacked(*shape, solver) for shape in STACKED for solver in SOLVERS]
    return few + [multiplied(*shape) for shape in MULTIPLIED]


def as_table(results: list[Result]) -> str:
    lines = []
    for r in results:
        milliseconds = (f"{1e3 * seconds:.3f}" for seconds in (r.alone, r.together))
        ratio = f"{r.together / r.alone:.2f}"
        lines.append([f"{r.n:,} x {r.d}", r.solver, r.way, *milliseconds, ratio])
    head = ["n x d", "solver", "together", "one by one, ms", "together, ms"]
    return table([*head, "together / one by one"], lines)


if __name__ == "__main__":
    backends.select("cpu")  # loads the BLAS that is to be limited
    with threadpool_limits(1):
        print(as_table(measure()))
