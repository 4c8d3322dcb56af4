"""Compare solvers on the user's data without a workflow."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from gvibench.api.fit import split_settings
from gvibench.api.problem import read_problem
from gvibench.api.runs import to_dataset
from gvibench.api.studies import as_study
from gvibench.engine.execute import execute
from gvibench.engine.optimum import NoOptimumError, find_optimum
from gvibench.errors import UserError
from gvibench.spec.run import RunSpec
from gvibench.store.prepared import Prepared
from gvibench.study.code_hash import run_hash

__all__ = ["compare"]

ITERATIONS = 200


def compare(
    X: Any,
    y: Any = None,
    *,
    solvers: Sequence[str] = ("vn", "sr-vn", "bw-gd"),
    seeds: int = 5,
    model: str = "auto",
    **settings: Any,
) -> xr.Dataset:
    """Run several solvers on the user's data, with several random starts each.

    Parameters
    ----------
    X, y
        Data, as for `fit`.
    solvers : sequence of str
        Names of solvers (see `gvibench solvers`).
    seeds : int
        Number of random starts.
    model : str
        Model, as for `fit`.
    **settings
        Settings of the data, the model and the runs, as for `fit`. Runs take 200 iterations unless
        `iterations` is given.

    Returns
    -------
    xarray.Dataset
        Curves of all runs with the dimensions `run` and `record`, like a study. `plot_gap` draws
        their gaps, with a band over the seeds.
    """
    if isinstance(solvers, str) or not solvers:
        raise UserError("solvers should be a list of names, e.g. ['vn', 'sr-vn']")
    if seeds < 1:
        raise UserError(f"seeds should be at least 1, got {seeds}")
    for name in ("solver", "seed"):
        if name in settings:
            raise UserError(f"unknown setting '{name}': use '{name}s'")
    about_problem, about_runs = split_settings(settings)
    problem = read_problem(X, y, model=model, **about_problem)
    runs = []
    for solver in dict.fromkeys(solvers):
        for seed in range(seeds):
            given = {"iterations": ITERATIONS, **about_runs, "solver": solver, "seed": seed}
            spec = problem.spec(given)
            runs.append((spec, execute(spec, problem.data, code_hash=run_hash(spec))))
    optima = {
        name: _optimal_objective(spec, problem.data)
        for name, spec in {spec.problem().canonical(): spec for spec, _ in runs}.items()
    }
    known = [optima[spec.problem().canonical()] for spec, _ in runs]
    return as_study([to_dataset(trace) for _, trace in runs], known)


def _optimal_objective(spec: RunSpec, data: Prepared) -> float:
    """Return the optimal objective of a run's problem, or NaN if there is no optimum."""
    try:
        return float(find_optimum(spec.problem(), data).attrs["objective"])
    except (NoOptimumError, UserError):
        return np.nan
