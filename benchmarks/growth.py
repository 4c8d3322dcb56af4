"""Fit how the time of an iteration grows with the numbers of rows and features.

python benchmarks/growth.py
"""

from functools import partial

import numpy as np
from measure import build, interleaved, synthetic_rows, table
from threadpoolctl import threadpool_limits

from gvibench import numerics as backends
from gvibench import solvers

SOLVERS = ("vn", "sr-vn", "bw-gd")
ROWS, AT_FEATURES = (5_000, 10_000, 20_000, 40_000, 80_000), 100
FEATURES, AT_ROWS = (160, 226, 320, 453, 640), 20_000
EXPECTED = {"n": 1.0, "d": 2.0}
LIMITS = {"n": 1.05, "d": 2.1}


def exponent(solver_id: str, shapes: list[tuple[int, int]], sizes: tuple[int, ...]) -> float:
    """Return the slope of log time over log size."""
    solver = solvers.create(solver_id, {})
    steps = {}
    for n, d in shapes:
        model = build(synthetic_rows(n, d), solver_id)
        state = solver.init(model, np.zeros(d), 1.0)
        steps[f"{n} {d}"] = partial(solver.step, state, model, 1e-3 / n)
    times = interleaved(steps, seconds=5.0)
    return float(np.polyfit(np.log(sizes), np.log(list(times.values())), 1)[0])


def measure() -> dict[tuple[str, str], float]:
    """Return the exponents of n and d for each solver."""
    exponents = {}
    for solver in SOLVERS:
        exponents[solver, "n"] = exponent(solver, [(n, AT_FEATURES) for n in ROWS], ROWS)
        exponents[solver, "d"] = exponent(solver, [(AT_ROWS, d) for d in FEATURES], FEATURES)
    return exponents


def as_table(exponents: dict[tuple[str, str], float]) -> str:
    ranges = {
        "n": f"n from {ROWS[0]:,} to {ROWS[-1]:,}, d = {AT_FEATURES}",
        "d": f"d from {FEATURES[0]} to {FEATURES[-1]}, n = {AT_ROWS:,}",
    }
    lines = [
        [solver, ranges[by], f"{value:.2f}", f"{EXPECTED[by]:g}", f"{LIMITS[by]:g}"]
        for (solver, by), value in exponents.items()
    ]
    return table(["solver", "range", "exponent", "expected", "required at most"], lines)


def missed(exponents: dict[tuple[str, str], float]) -> list[str]:
    """Return a sentence for each requirement that is not met."""
    return [
        f"The time of {solver} grows with {by} to the power {value:.2f}, not {LIMITS[by]:g}."
        for (solver, by), value in exponents.items()
        if value > LIMITS[by]
    ]


if __name__ == "__main__":
    backends.select("cpu")  # load the BLAS before limiting its threads
    with threadpool_limits(1):
        results = measure()
    print(as_table(results), *missed(results), sep="\n")
