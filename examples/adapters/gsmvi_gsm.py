"""Gaussian score matching of gsmvi, in track B. It minimises another divergence.

Run it as `python examples/adapters/gsmvi_gsm.py PROBLEMS OUT`.
"""

from importlib.metadata import version

import jax
import numpy as np
from folder import checkpoints, jax_log_density, main
from gsmvi.gsm import GSM

jax.config.update("jax_enable_x64", True)
DRAWS = 2
CARD = {
    "name": "gsmvi-gsm",
    "version": version("gsmvi"),
    "track": "B",
    "league": "untuned",
    "cost": f"{DRAWS} passes per step: the gradient of all rows at {DRAWS} draws",
    "search_space": f"none: {DRAWS} draws, the default, for all problems",
    "licence": "MIT",
    "authors": "The gvibench developers (adapter), Chirag Modi and others (solver)",
    "other_divergence": True,
}


class Monitor:
    """Record a run of gsmvi, which calls this object before each step and after the last one."""

    checkpoint = 1

    def __init__(self, trace, costs):
        self._trace, self._costs = trace, {0, *costs}
        self._cost = -1  # gsmvi counts one evaluation before its first step

    def __call__(self, iteration, gaussian, lp, key, nevals):
        self._cost += nevals
        if self._cost in self._costs:
            mean, covariance = gaussian
            self._trace.record(self._cost, mean, np.linalg.cholesky(covariance))


def solve(problem, trace):
    """Match the scores from the given start."""
    log_density = jax_log_density(problem)
    score = jax.jit(jax.vmap(jax.grad(log_density)))
    solver = GSM(D=len(problem.mean0), lp=jax.vmap(log_density), lp_g=score)
    mean, covariance = problem.mean0, problem.factor0 @ problem.factor0.T
    settings = {"mean": mean, "cov": covariance, "batch_size": DRAWS, "verbose": False}
    steps = checkpoints(DRAWS, trace.budget)
    solver.fit(jax.random.PRNGKey(0), niter=10, **settings)  # compiles
    trace.start_clock()
    monitor = Monitor(trace, [DRAWS * k for k in steps])
    solver.fit(jax.random.PRNGKey(0), niter=steps[-1] - 1, monitor=monitor, **settings)


if __name__ == "__main__":
    main(CARD, solve)
