"""Time per iteration: ours against the straightforward NumPy way, in one process, interleaved.

    python benchmarks/iterations.py [DATASET ...]

LIBSVM sets are fetched on first use (GVIBENCH_DATA names a local mirror).
"""

import sys
import time
from statistics import median

import numpy as np
import plain_numpy
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
DATASETS = ("diabetes_scale", "mushrooms", "phishing")


def compare(dataset: str, solver_id: str, expectation: str, rounds: int) -> tuple[float, float]:
    """Return median seconds per iteration, ours and plain, after checking that they agree."""
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
    model = models.build(spec, backends.select("cpu"), train, train)
    solver = solvers.configure(solver_id, {})
    mean = initial_mean(spec, model.d)
    state = solver.init(model, mean, 1.0)

    plain_step, to_covariance = SOLVERS[solver_id]
    rows = -prepared.train_y[:, None] * prepared.train_x
    pieces = expectations.build("piecewise").pieces

    def expect(mu, s2):
        return plain_numpy.expect_pieces(mu, s2, pieces)

    plain_mean, plain_matrix = mean, np.eye(model.d)
    ours, plain = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        state = solver.step(state, model, spec.step)
        middle = time.perf_counter()
        plain_mean, plain_matrix, _ = plain_step(
            rows, plain_mean, plain_matrix, spec.step, spec.beta, expect
        )
        plain.append(time.perf_counter() - middle)
        ours.append(middle - start)
    if expectation == "piecewise":
        lower = state.factor.covariance_lower()
        np.testing.assert_allclose(state.mean, plain_mean, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(
            lower @ lower.T, to_covariance(plain_matrix), rtol=1e-5, atol=1e-8
        )
    return median(ours), median(plain)


def main(datasets: list[str]) -> None:
    print("one thread; ms per iteration, medians; plain NumPy uses 20 quadratic pieces throughout")
    print(f"{'data set':18}{'solver':8}{'expectation':12}{'ours':>9}{'plain':>9}{'plain/ours':>12}")
    with threadpool_limits(1):
        for dataset in datasets or DATASETS:
            for solver in SOLVERS:
                for expectation in ("piecewise", "exact"):
                    ours, plain = compare(dataset, solver, expectation, rounds=40)
                    print(
                        f"{dataset:18}{solver:8}{expectation:12}"
                        f"{1e3 * ours:9.3f}{1e3 * plain:9.3f}{plain / ours:12.1f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main(sys.argv[1:])
