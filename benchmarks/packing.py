"""What several runs of one data set would gain by taking their steps together.

    python benchmarks/packing.py

Runs that differ in seed or step share X. Their SR-VN steps can be taken one after the other, as
gvibench does; or together, with the products XC of all runs as one large GEMM, one pass of the
compiled expectation over all their points, and every small operation on stacks of matrices. The
GEMM cannot use that C is triangular, and each run's Gram matrix has weights of its own.
"""

import numpy as np
from measure import build, interleaved, synthetic_rows, table
from threadpoolctl import threadpool_limits

from gvibench import backend as backends
from gvibench import expectations, solvers
from gvibench.models import Rows

RUNS = 8
SHAPES = ((614, 8), (552, 14), (6499, 112), (8844, 68), (50_000, 54))


class Together:
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


def compare(n: int, d: int) -> dict[str, float]:
    """Return seconds per run and step, one by one and together, which give the same iterates."""
    rows, rho = synthetic_rows(n, d), 1e-2 / n
    model, solver = build(rows, "sr-vn"), solvers.configure("sr-vn", {})
    means = 0.1 * np.random.default_rng(1).standard_normal((RUNS, d))
    states = [solver.init(model, mean, 1.0) for mean in means]
    together = Together(rows, means, model.beta)

    def one_by_one() -> None:
        states[:] = [solver.step(state, model, rho) for state in states]

    for _ in range(3):
        one_by_one()
        together.step(rho)
    means = np.array([state.mean for state in states])
    np.testing.assert_allclose(means, together.m, rtol=1e-9, atol=1e-12)
    found = interleaved({"alone": one_by_one, "together": lambda: together.step(rho)}, seconds=1.0)
    return {name: seconds / RUNS for name, seconds in found.items()}


def measure() -> dict[tuple[int, int], dict[str, float]]:
    return {shape: compare(*shape) for shape in SHAPES}


def as_table(found: dict[tuple[int, int], dict[str, float]]) -> str:
    lines = []
    for (n, d), times in found.items():
        alone, together = times["alone"], times["together"]
        milliseconds = (f"{1e3 * alone:.3f}", f"{1e3 * together:.3f}")
        lines.append([f"{n:,} x {d}", *milliseconds, f"{together / alone:.2f}"])
    return table(["n x d", "one by one, ms", "together, ms", "together / one by one"], lines)


if __name__ == "__main__":
    backends.select("cpu")  # loads the BLAS that is to be limited
    with threadpool_limits(1):
        print(as_table(measure()))
