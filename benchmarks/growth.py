"""How the time of an iteration grows with rows and features, as fitted exponents.

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
    """Return the slope of log time over log size, the problems taking turns."""
    solver = solvers.configure(solver_id, {})
    steps = {}
    for n, d in shapes:
        model = build(synthetic_rows(n, d), solver_id)
        state = solver.init(model, np.zeros(d), 1.0)
        steps[f"{n} {d}"] = partial(solver.step, state, model, 1e-3 / n)
    times = interleaved(steps, seconds=5.0)
    return float(np.polyfit(np.log(sizes), np.log(list(times.values())), 1)[0])


def measure() -> dict[tuple[str, str], float]:
    """Return the exponent for each solver in n and in d."""
    found = {}
    for solver in SOLVERS:
        found[solver, "n"] = exponent(solver, [(n, AT_FEATURES) for n in ROWS], ROWS)
        found[solver, "d"] = exponent(solver, [(AT_ROWS, d) for d in FEATURES], FEATURES)
    return found


def as_table(found: dict[tuple[str, str], float]) -> str:
    ranges = {
        "n": f"n from {ROWS[0]:,} to {ROWS[-1]:,}, d = {AT_FEATURES}",
        "d": f"d from {FEATURES[0]} to {FEATURES[-1]}, n = {AT_ROWS:,}",
    }
    lines = [
        [solver, ranges[by], f"{value:.2f}", f"{EXPECTED[by]:g}", f"{LIMITS[by]:g}"]
        for (solver, by), value in found.items()
    ]
    return table(["solver", "range", "exponent", "expected", "required at most"], lines)


def missed(found: dict[tuple[str, str], float]) -> list[str]:
    return [
        f"The time of {solver} grows with {by} to the power {value:.2f}, not {LIMITS[by]:g}."
        for (solver, by), value in found.items()
        if value > LIMITS[by]
    ]


if __name__ == "__main__":
    backends.select("cpu")  # loads the BLAS that is to be limited
    with threadpool_limits(1):
        exponents = measure()
    print(as_table(exponents), *missed(exponents), sep="\n")
