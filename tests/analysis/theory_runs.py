"""Real runs on small problems, combined by the real aggregation."""

import json
import tempfile
from pathlib import Path

import numpy as np

from gvibench.engine.execute import execute
from gvibench.engine.optimum import find_optimum
from gvibench.registry import SOLVERS
from gvibench.spec.metrics import EXTRA_CURVES, METRICS
from gvibench.spec.run import DataSpec, ProblemSpec, RunSpec
from gvibench.store.aggregates import open_aggregate
from gvibench.store.optima import write_optimum
from gvibench.store.prepared import Prepared
from gvibench.store.traces import write_trace
from gvibench.study.aggregate import aggregate

RECORD = ("cov_eig_max", "cov_eig_min", "covariance_factor_path", "factor_norm")


def problem(n=40, d=2, scale=0.5, seed=0, real=False):
    """Return prepared data with a random design matrix."""
    rng = np.random.default_rng(seed)
    x = scale * rng.standard_normal((n, d))
    y = x @ rng.standard_normal(d) + rng.standard_normal(n)
    y = y if real else np.where(y > 0, 1.0, -1.0)
    name = f"{'linear' if real else 'logistic'}-{n}-{d}-{scale:g}-{seed}"
    return Prepared(DataSpec(dataset=name), x, y, x[:5], y[:5], {})


def run_spec(data, solver, step, **changes):
    settings = {"beta": 2.0, "expectation": "exact", "iterations": 300, "record": RECORD}
    return RunSpec(data=data.spec, solver=solver, step=step, **settings | changes)


def optimum_of(data, spec):
    fields = {name: getattr(spec, name) for name in ProblemSpec.names()}
    return find_optimum(ProblemSpec(**fields), data)


DATA = problem()
NARROW = problem(n=4, scale=0.3)


def mixed_runs(iterations):
    """Return runs of several solvers, some with and some without an applicable theorem."""

    def run(solver, step, data=DATA, **changes):
        settings = {"init_scale": 0.4, "iterations": iterations, **changes}
        return data, run_spec(data, solver, step, **settings)

    return [
        run("sr-vn", 0.05),
        run("sr-vn", 0.05, seed=1),
        run("sr-vn", 1.0),
        run("ng-flow", 0.05),
        run("bw-gd", 0.02),
        run("vn", 0.1),
        run("sr-vn", 0.002, NARROW, init_scale=2.5, mean_scale=0.0, iterations=40),
    ]


def study(*runs):
    """Execute runs, given by their data and specs, and return their aggregate in memory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        entries = [_entry(folder, k, *run) for k, run in enumerate(runs)]
        titles = {spec.solver: {spec.solver: SOLVERS.load(spec.solver).title} for _, spec in runs}
        recorded = {name for _, spec in runs for name in spec.record}
        head = {
            **{"study": "real", "title": "Real runs", "gap": "optimum", "solver_titles": titles},
            "records": max(spec.max_records for _, spec in runs),
            "curves": [*METRICS, "seconds", *(name for name in EXTRA_CURVES if name in recorded)],
        }
        (folder / "manifest.json").write_text(json.dumps({**head, "runs": entries}))
        aggregate(folder / "manifest.json", folder / "aggregate.zarr.zip")
        with open_aggregate(folder / "aggregate.zarr.zip") as dataset:
            return dataset.load()


def _entry(folder, k, data, spec):
    """Execute one run, write its trace and optimum, and return its manifest entry."""
    trace, optimum = folder / f"run-{k}.zarr.zip", folder / f"optimum-{k}.zarr.zip"
    write_trace(trace, execute(spec, data, code_hash="feedfacefeedface"))
    write_optimum(optimum, optimum_of(data, spec))
    return {
        "path": str(trace),
        "group": None,
        "dataset": data.spec.dataset,
        "solver": spec.solver,
        "seed": spec.seed,
        "choice": None,
        "beta_choice": None,
        "tuned_fields": [],
        "optimum": str(optimum),
        "exact_optimum": None,
        "code_hash": "feedfacefeedface",
        "spec_hash": spec.spec_hash,
    }
