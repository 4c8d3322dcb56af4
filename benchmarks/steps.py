"""Compare the CPU time per model evaluation of the step rules `auto` and `constant`.

    python benchmarks/steps.py

Besides evaluating the model, a search computes slopes, surrogates and proposals that it rejects.
Both rules take the same number of iterations from the same starts and alternate in one process. The
time includes the checks and the records of the engine. The runs are short, so that no search
reaches the rounding errors at the optimum.
"""

import time
from statistics import median
from typing import NamedTuple

from measure import real_rows, synthetic_rows, table
from threadpoolctl import threadpool_limits

from gvibench import numerics as backends
from gvibench.engine.run import Run
from gvibench.models.protocols import Rows
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.prepared import Prepared

SIZES = {
    "diabetes_scale": (614, 8),
    "wdbc": (455, 30),
    "digits-odd-even": (1437, 64),
    "phishing": (8844, 68),
    "covtype": (50_000, 54),
}
FIRST_STEP = {"constant": 1e-6, "auto": 1.0}
"""Step sizes. The rule `auto` starts with its default."""
ITERATIONS = {"vn": 8, "sr-vn": 10, "bw-gd": 30, "fr-kl": 10}
LARGE = 1e7
"""Size n d^2 from which the ratio must be below its limit."""
LIMIT = 1.1
"""Maximum time per evaluation of `auto`, relative to `constant`."""
REPEATS = 7
STEPS = 200
"""Number of iterations per repetition on small problems, in runs with different seeds."""


class Result(NamedTuple):
    """CPU seconds per evaluation with both rules."""

    label: str
    n: int
    d: int
    solver: str
    constant: float
    auto: float
    ratio: float
    trials: float
    """Trial steps per evaluation of `auto`, including those that were screened out."""


def prepared(dataset: str) -> tuple[str, Prepared]:
    """Return a label and the rows of a data set, or Gaussian rows of the same size."""
    n, d = SIZES[dataset]
    rows, label = real_rows(dataset), dataset
    if rows is None:
        rows, label = synthetic_rows(n, d), f"synthetic ({dataset})"
    rows = Rows(rows.x[:n], rows.y[:n])
    return label, Prepared(DataSpec(dataset=dataset), rows.x, rows.y, rows.x[:1], rows.y[:1], {})


def run_once(spec: RunSpec, data: Prepared) -> tuple[float, float, float]:
    """Return the CPU seconds, the evaluations and the trial steps of the iterations of a run."""
    run = Run(spec, data, backends.select("cpu"))
    run.start()
    before, start = run.state.evaluations, time.process_time()
    while run.is_active:
        run.step()
    seconds = time.process_time() - start
    if run.state.iteration < spec.iterations:
        raise RuntimeError(f"{spec.solver} stopped early: {run.reason}")
    evaluations, counts = run.state.evaluations - before, run.trial_counts()
    return seconds, evaluations, evaluations + counts["screened_steps"] + counts["indefinite_steps"]


def compare(dataset: str, solver: str) -> Result:
    """Measure both rules on one problem."""
    label, data = prepared(dataset)
    (n, d), iterations = data.train_x.shape, ITERATIONS[solver]
    seeds = range(1 if n * d**2 > LARGE else max(1, STEPS // iterations))

    def specs(rule: str) -> list[RunSpec]:
        return [
            RunSpec(
                data=data.spec,
                beta=1.0,
                solver=solver,
                step=FIRST_STEP[rule],
                step_rule=rule,
                iterations=iterations,
                record_every=iterations,
                snapshots=0,
                seed=seed,
            )
            for seed in seeds
        ]

    rules = {rule: specs(rule) for rule in ("constant", "auto")}
    used: dict[str, list[float]] = {rule: [] for rule in rules}
    trials_each = 1.0
    for _ in range(REPEATS):
        for rule, runs in rules.items():
            sums = zip(*(run_once(spec, data) for spec in runs), strict=True)
            seconds, evaluations, trials = map(sum, sums)
            used[rule].append(seconds / evaluations)
            trials_each = trials / evaluations
    ratio = median(a / c for a, c in zip(used["auto"], used["constant"], strict=True))
    constant, auto = median(used["constant"]), median(used["auto"])
    return Result(label, n, d, solver, constant, auto, ratio, trials_each)


def measure() -> list[Result]:
    return [compare(dataset, solver) for dataset in SIZES for solver in ITERATIONS]


def as_table(results: list[Result]) -> str:
    head = ["data set", "n x d", "solver", "constant, ms", "auto, ms", "auto / constant"]
    head += ["required", "trial steps per evaluation"]
    lines = [
        [
            r.label,
            f"{r.n:,} x {r.d}",
            r.solver,
            f"{1e3 * r.constant:.3g}",
            f"{1e3 * r.auto:.3g}",
            f"{r.ratio:.2f}",
            f"{LIMIT:g}" if r.n * r.d**2 >= LARGE else "-",
            f"{r.trials:.2f}",
        ]
        for r in results
    ]
    return table(head, lines)


def missed(results: list[Result]) -> list[str]:
    """Return a sentence for each requirement that is not met."""
    return [
        f"An evaluation of {r.solver} with auto steps on {r.label} takes {r.ratio:.2f} x the time "
        f"with constant steps, not {LIMIT:g} x."
        for r in results
        if r.n * r.d**2 >= LARGE and r.ratio > LIMIT
    ]


if __name__ == "__main__":
    backends.select("cpu")  # load the BLAS before limiting its threads
    with threadpool_limits(1):
        results = measure()
    print(as_table(results), *missed(results), sep="\n")
