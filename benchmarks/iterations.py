"""Time per iteration, one thread, one process, interleaved: ours, the floor, and plain NumPy.

    python benchmarks/iterations.py [DATASET ...]

The floor is the BLAS and LAPACK calls that no correct implementation can skip, on arrays of the
same size: TRMM for the variances, SYRK for the curvature, two GEMV, and POTRF for vn. To it belong
the compiled `exact` pass and one read and one write of X. LIBSVM sets are fetched on first use
(GVIBENCH_DATA names a local mirror).
"""

import sys
import time
from statistics import median

import numpy as np
import plain_numpy
from scipy.linalg import blas, lapack
from threadpoolctl import threadpool_limits

from gvibench import backend as backends
from gvibench import expectations, models, solvers
from gvibench.datasets import prepared_path
from gvibench.datasets.catalogue import complete, find
from gvibench.datasets.prepared import read_prepared
from gvibench.models import Rows
from gvibench.presets import PAPER_STEPS
from gvibench.run import initial_mean
from gvibench.spec import DataSpec, RunSpec

SOLVERS = {
    "sr-vn": (plain_numpy.sr_vn, lambda c: c @ c.T),
    "vn": (plain_numpy.vn, np.linalg.inv),
    "bw-gd": (plain_numpy.bw_gd, lambda v: v),
}
DATASETS = ("diabetes_scale", "mushrooms", "phishing", "covtype", "mnist")


class Floor:
    """The calls that cannot be skipped, on the run's own rows."""

    def __init__(self, rows: np.ndarray, solver: str) -> None:
        d = rows.shape[1]
        self.rows, self.solver = rows, solver
        self.copy = np.empty_like(rows)
        self.lower = np.eye(d) + 0.01 * np.tri(d)
        self.gram = np.zeros((d, d))
        self.mean, self.weights = np.ones(d), np.full(len(rows), 0.1)
        self.spd = self.lower @ self.lower.T + np.eye(d)
        self.mu, self.s2 = rows @ self.mean, np.ones(len(rows))
        self.out = np.empty((3, len(rows)))
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


def timed(function) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare(dataset: str, solver_id: str, expectation: str) -> dict[str, float]:
    """Return median seconds, after checking that ours and plain NumPy's iterates agree."""
    data = complete(DataSpec(dataset=dataset))
    prepared = read_prepared(prepared_path(data))
    spec = RunSpec(
        data=data,
        beta=find(data).beta,
        solver=solver_id,
        step=PAPER_STEPS[dataset][solver_id],
        expectation=expectation,
    )
    train = Rows(prepared.train_x, prepared.train_y)
    model = models.build(
        spec, backends.select("cpu"), train, train._replace(x=train.x[:1], y=train.y[:1])
    )
    solver = solvers.configure(solver_id, {})
    mean = initial_mean(spec, model.d)
    state = [solver.init(model, mean, 1.0)]
    plain_step, to_covariance = SOLVERS[solver_id]
    pieces = expectations.build("piecewise").pieces
    plain = [mean, np.eye(model.d), 0.0]
    floor = Floor(model.train.x, solver_id)
    signed = -train.y[:, None] * train.x

    def expect(mu, s2):
        return plain_numpy.expect_pieces(mu, s2, pieces)

    def step_ours() -> None:
        state[0] = solver.step(state[0], model, spec.step)

    def step_plain() -> None:
        plain[:] = plain_step(signed, *plain[:2], spec.step, spec.beta, expect)

    work = model.n * model.d**2
    rounds = 100 if work < 1e6 else 30 if work < 1e9 else 3
    times: dict[str, list[float]] = {"ours": [], "plain": [], "floor": [], "rest": []}
    for _ in range(rounds):
        times["ours"].append(timed(step_ours))
        times["floor"].append(timed(floor.blas))
        times["rest"].append(timed(floor.rest))
        times["plain"].append(timed(step_plain))
    if expectation == "piecewise":
        lower = state[0].factor.covariance_lower()
        np.testing.assert_allclose(state[0].mean, plain[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(lower @ lower.T, to_covariance(plain[1]), rtol=1e-5, atol=1e-8)
    return {name: median(values) for name, values in times.items()}


def main(datasets: list[str]) -> None:
    print("ms per iteration, one thread; plain NumPy uses 20 quadratic pieces throughout")
    print(
        f"{'data set':16}{'solver':7}{'expectation':12}{'ours':>10}{'floor':>10}{'plain':>10}"
        f"{'ours/floor':>12}{'ours/(floor+)':>15}{'ours/plain':>12}"
    )
    backends.select("cpu")  # loads the BLAS that is to be limited
    with threadpool_limits(1):
        for dataset in datasets or DATASETS:
            for solver in SOLVERS:
                for expectation in ("exact", "piecewise"):
                    found = compare(dataset, solver, expectation)
                    ours, floor, plain = found["ours"], found["floor"], found["plain"]
                    print(
                        f"{dataset:16}{solver:7}{expectation:12}"
                        f"{1e3 * ours:10.3f}{1e3 * floor:10.3f}{1e3 * plain:10.3f}"
                        f"{ours / floor:12.2f}{ours / (floor + found['rest']):15.2f}"
                        f"{ours / plain:12.3f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main(sys.argv[1:])
