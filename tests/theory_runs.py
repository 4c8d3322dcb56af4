"""Real runs on small problems, labelled the way the aggregate labels them."""

import numpy as np
import xarray as xr

from gvibench.datasets.prepared import Prepared
from gvibench.optimum import find_optimum
from gvibench.run import execute
from gvibench.spec import DataSpec, ProblemSpec, RunSpec

RECORD = ("cov_eig_max", "cov_eig_min", "covariance_factor_path", "factor_norm")


def problem(n=40, d=2, scale=0.5, seed=0, real=False):
    """Return prepared data whose design is random."""
    rng = np.random.default_rng(seed)
    x = scale * rng.standard_normal((n, d))
    y = x @ rng.standard_normal(d) + rng.standard_normal(n)
    y = y if real else np.where(y > 0, 1.0, -1.0)
    name = f"{'linear' if real else 'logistic'}-{n}-{d}-{scale:g}-{seed}"
    return Prepared(DataSpec(dataset=name), x, y, x[:5], y[:5], {})


def run_spec(data, solver, step, **changes):
    settings = {"beta": 2.0, "expectation": "exact", "iterations": 300, "record": RECORD}
    return RunSpec(data=data.spec, solver=solver, step=step, **settings | changes)


def curvature_bound(data, spec):
    """Return M in the plainest way."""
    top = np.linalg.eigvalsh(data.train_x.T @ data.train_x)[-1]
    return spec.beta + (top / spec.sigma**2 if spec.model == "linear" else top / 4)


def optimum_of(data, spec):
    fields = {name: getattr(spec, name) for name in ProblemSpec.model_fields}
    return find_optimum(ProblemSpec(**fields), data)


def study(*runs):
    """Do runs, each given by its data and spec, and return them as an aggregate would."""
    traces = [execute(spec, data) for data, spec in runs]
    optima = [optimum_of(data, spec) for data, spec in runs]
    specs = [spec for _, spec in runs]
    iteration = np.unique(np.concatenate([trace.iteration for trace in traces]))
    snapshot = np.unique(np.concatenate([trace.snapshot for trace in traces]))
    size = max(data.train_x.shape[1] for data, _ in runs)
    names = sorted({name for trace in traces for name in trace.scalars})
    curves = {name: np.full((len(runs), len(iteration)), np.nan) for name in names}
    mean = np.full((len(runs), len(snapshot), size), np.nan)
    factor = np.full((len(runs), len(snapshot), size, size), np.nan)
    best_mean = np.full((len(runs), size), np.nan)
    best_factor = np.full((len(runs), size, size), np.nan)
    for k, (trace, optimum) in enumerate(zip(traces, optima, strict=True)):
        at = np.searchsorted(iteration, trace.iteration)
        for name, values in trace.scalars.items():
            curves[name][k, at] = values
        d = len(optimum.mean)
        if "covariance_factor_path" in trace.factors:
            at = np.searchsorted(snapshot, trace.snapshot)
            mean[k, at, :d] = trace.mean
            factor[k, at, :d, :d] = trace.factors["covariance_factor_path"]
            best_mean[k, :d] = optimum.mean
            best_factor[k, :d, :d] = optimum.covariance_factor
    square = ("feature", "feature_")
    of_run = {
        "dataset": [data.spec.dataset for data, _ in runs],
        "solver": [spec.solver for spec in specs],
        "seed": [spec.seed for spec in specs],
        "tuned": [False] * len(runs),
        "status": [trace.attrs["status"] for trace in traces],
        "reason": [trace.attrs["reason"] for trace in traces],
        "spec": [spec.canonical() for spec in specs],
        "spec_hash": [spec.spec_hash for spec in specs],
        "code_hash": [trace.attrs["code_hash"] for trace in traces],
    }
    return xr.Dataset(
        {name: (("run", "iteration"), values) for name, values in curves.items()}
        | {
            "optimum_objective": ("run", [one.attrs["objective"] for one in optima]),
            "smoothness": ("run", [curvature_bound(data, spec) for data, spec in runs]),
            "path_mean": (("run", "snapshot", "feature"), mean),
            "path_covariance_factor": (("run", "snapshot", *square), factor),
            "optimum_mean": (("run", "feature"), best_mean),
            "optimum_covariance_factor": (("run", *square), best_factor),
        },
        coords={"iteration": iteration, "snapshot": snapshot}
        | {
            name: ("run", np.array(values, dtype=object if isinstance(values[0], str) else None))
            for name, values in of_run.items()
        },
        attrs={"gap": "optimum", "title": "Real runs", "versions": {}},
    )
