"""Provide a study of realistic size: 8 data sets, 8 solvers, 5 seeds, 2,000 iterations."""

import numpy as np

from figures.made_aggregate import Run, write_aggregate

SOLVERS = ("vn", "sr-vn", "bw-gd", "gd", "gd-chol", "svgd-density", "ng-flow", "fb-gvi")
ITERATIONS = np.arange(2000)


def write_big_study(folder):
    """Write the aggregate and return its path. Some curves are smooth, noisy or oscillating."""
    random = np.random.default_rng(0)
    runs = []
    for d in range(8):
        for s, solver in enumerate(SOLVERS):
            rate = 10 ** random.uniform(-3.5, -1)
            for seed in range(5):
                gaps = 500 * np.exp(-rate * random.uniform(0.9, 1.1) * ITERATIONS)
                gaps += 1e-11 * random.random(2000)
                if s % 4 == 2:  # like minibatches
                    gaps *= np.exp(0.3 * random.standard_normal(2000))
                if s % 4 == 3:  # like steps that are too long
                    gaps *= 1 + 0.5 * np.sin(ITERATIONS / 7)
                runs.append(
                    Run(
                        10.0 + gaps,
                        f"data-{d}",
                        solver,
                        seed=seed,
                        step=0.1,
                        seconds=list(np.cumsum(random.uniform(0.9e-4, 1.1e-4, 2000)) - 9e-5),
                        scalars={"test_accuracy": 0.9 - 1e-4 * gaps},
                        spec={"iterations": 2000},
                    )
                )
    return write_aggregate(folder, runs)
