"""Compare reduced and dense iterations on a problem with more features than rows.

python benchmarks/reduced.py
"""

import numpy as np
from measure import build, interleaved, real_rows, synthetic_rows, table, timed
from threadpoolctl import threadpool_limits

from gvibench import numerics as backends
from gvibench import solvers
from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.models.reduction import reduce_problem

DATASET, SIZE = "leukemia", (38, 7129)
SOLVERS = ("vn", "bw-gd")
LIMIT = 1000
STEP = 1e-6


def step_seconds(model: Model, solver_id: str, mean: np.ndarray, turns: int) -> float:
    """Return the seconds of one step."""
    solver = solvers.create(solver_id, {})
    state = solver.init(model, mean, 1.0)
    if turns == 1:
        return timed(lambda: solver.step(state, model, STEP))
    return interleaved({"": lambda: solver.step(state, model, STEP)}, 1.0, max_turns=turns)[""]


def measure() -> dict[str, tuple[float, float]]:
    """Return the seconds of a reduced and a dense iteration for each solver."""
    rows = real_rows(DATASET) or synthetic_rows(*SIZE)
    mean = 0.1 * np.random.default_rng(0).standard_normal(rows.x.shape[1])
    small = reduce_problem(rows.x, rows.x[:1], mean)
    reduced = Rows(small.train_x, rows.y)
    return {
        solver: (
            step_seconds(build(reduced, solver), solver, small.mean, 100),
            step_seconds(build(rows, solver), solver, mean, 1),
        )
        for solver in SOLVERS
    }


def as_table(results: dict[str, tuple[float, float]]) -> str:
    lines = [
        [solver, f"{1e3 * fast:.3f}", f"{1e3 * slow:,.0f}", f"{slow / fast:,.0f}", f"{LIMIT:,}"]
        for solver, (fast, slow) in results.items()
    ]
    return table(["solver", "reduced, ms", "dense, ms", "dense / reduced", "required"], lines)


def missed(results: dict[str, tuple[float, float]]) -> list[str]:
    """Return a sentence for each requirement that is not met."""
    return [
        f"{solver} on {DATASET} is {slow / fast:.0f} x faster when reduced, not {LIMIT} x."
        for solver, (fast, slow) in results.items()
        if slow < LIMIT * fast
    ]


if __name__ == "__main__":
    backends.select("cpu")  # load the BLAS before limiting its threads
    with threadpool_limits(1):
        seconds = measure()
    print(as_table(seconds), *missed(seconds), sep="\n")
