"""Make aggregates with known results from hand-made traces, with the real aggregation."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gvibench.spec.canonical import hash_values
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.aggregates import open_aggregate
from gvibench.store.measures import write_measures
from gvibench.store.optima import Optimum, write_optimum
from gvibench.store.traces import SCALARS, Trace, write_trace
from gvibench.study.aggregate import aggregate
from gvibench.study.plan import solver_title


@dataclass
class Run:
    """Trace of one run. Tests set some fields, the others have defaults."""

    objective: list
    dataset: str = "wdbc"
    solver: str = "vn"
    solver_id: str | None = None
    seed: int = 0
    features: int = 3
    step: float = 0.1
    init_scale: float = 1.0
    iteration: list | None = None
    seconds: list | None = None
    status: str = "completed"
    reason: str = "done"
    optimum: float | None = 10.0
    tuning: dict | None = None
    tuned_fields: tuple = ("init_scale", "step")
    scalars: dict = field(default_factory=dict)
    spec: dict = field(default_factory=dict)
    data: dict = field(default_factory=dict)

    def run_spec(self):
        return RunSpec(
            data=DataSpec(**{"dataset": "wdbc", "test_size": 0.2, **self.data}),
            solver=self.solver_id or self.solver,
            step=self.step,
            init_scale=self.init_scale,
            seed=self.seed,
            **{"beta": 0.1, "iterations": 5, **self.spec},
        )

    def trace(self):
        count = len(self.objective)
        iteration = np.array(self.iteration or range(count))
        objective = np.array(self.objective, dtype=float)
        scalars = {
            "objective": objective,
            "neg_elbo": objective + 5,
            "train_elbo_paper": objective - 2,
            "test_nll": objective / 2,
            "test_nll_at_mean": objective / 100,
            "test_accuracy": np.linspace(0.5, 0.9, count),
            "grad_norm": np.ones(count),
            "evaluations": 1.0 + iteration,
            "data_passes": 1.0 + iteration,
            "seconds": np.array(self.seconds or 0.01 * iteration, dtype=float),
            "step": np.full(count, self.step),
        }
        scalars |= {name: np.array(values, dtype=float) for name, values in self.scalars.items()}
        spec = self.run_spec()
        attrs = {
            "spec": spec.canonical(),
            "spec_hash": spec.spec_hash,
            "code_hash": "feedfacefeedface",
            "status": self.status,
            "reason": self.reason,
            "iterations_done": int(iteration[-1]),
            "step_used": self.step,
            "rejected_steps": 0,
            "screened_steps": 0,
            "indefinite_steps": 0,
            "results": {},
            "solver_form": "dense",
            "device": "cpu",
            "dtype": "float64",
            "threads": 1,
            "exclusive": False,
            "versions": {"python": "3"},
            "n_train": 40,
            "n_test": 10,
            "d": self.features,
            "host": "here",
            "wall_seconds": 1.0,
            "cpu_seconds": 1.0,
            "warmup_seconds": 0.0,
        }
        return Trace(iteration, scalars, attrs)


def write_aggregate(
    folder: Path, runs, gap="optimum", title="Made", dask=None, cost="iterations", measures=()
):
    """Write traces, optima and a manifest, and return the path of their aggregate.

    `measures` are pairs of the position of a run and its measures. Without a seed, they are those
    of the optimum of that run.
    """
    entries = []
    for k, run in enumerate(runs):
        path = folder / f"run-{k}.zarr.zip"
        trace = run.trace()
        write_trace(path, trace)
        spec = trace.spec
        optimum, choice = None, None
        if run.optimum is not None:
            optimum = folder / f"optimum-{k}.zarr.zip"
            at = {
                "objective": run.optimum,
                "neg_elbo": run.optimum + 5,
                "train_elbo_paper": run.optimum - 2,
                "test_nll": 3.0,
                "test_accuracy": 0.9,
                "smoothness": 1.0,
            }
            write_optimum(optimum, Optimum(np.zeros(1), None, at))
        if run.tuning is not None:
            choice = folder / f"choice-{k}.json"
            known = {"step": run.step, "init_scale": run.init_scale, "objective": 0.0}
            choice.write_text(
                json.dumps(known | {"diverged": 0, "note": "", "failed": None} | run.tuning)
            )
            spec |= dict.fromkeys(run.tuned_fields)
        entries.append(
            {
                "path": str(path),
                "group": None,
                "dataset": run.dataset,
                "solver": run.solver,
                "seed": run.seed,
                "choice": choice and str(choice),
                "beta_choice": None,
                "tuned_fields": list(run.tuned_fields) if choice else [],
                "optimum": optimum and str(optimum),
                "exact_optimum": None,
                "code_hash": "feedfacefeedface",
                "spec_hash": hash_values(spec),
            }
        )
    manifest = folder / "manifest.json"
    titles: dict[str, dict[str, str]] = {}
    for run in runs:
        solver = run.solver_id or run.solver
        titles.setdefault(run.solver, {})[solver] = solver_title(run.solver, solver)
    traces = [run.trace() for run in runs]
    head = {
        "study": "made",
        "title": title,
        "gap": gap,
        "cost": cost,
        "records": max(len(trace.iteration) for trace in traces),
        "curves": [
            name
            for name in SCALARS
            if name != "step" and any(name in trace.scalars for trace in traces)
        ],
        "solver_titles": titles,
    }
    jobs = []
    for k, (run, result) in enumerate(measures):
        path, entry = folder / f"measures-{k}.json", entries[run]
        write_measures(path, [result], "c0de")
        of = entry["path"] if result["seed"] is not None else None
        job = {"path": str(path), "code_hash": "c0de", "run": of, "optimum": entry["optimum"]}
        jobs.append(job)
    if jobs:
        head["measures"] = jobs
    manifest.write_text(json.dumps({**head, "runs": entries}))
    out = folder / "aggregate.zarr.zip"
    aggregate(manifest, out, dask=dask)
    return out


def make_dataset(folder: Path, runs, **settings):
    """Return the aggregate of hand-made runs in memory."""
    with open_aggregate(write_aggregate(folder, runs, **settings)) as dataset:
        return dataset.load()


def timed_run(d, seconds, seed=0, **more):
    """Return a run of four iterations on 40 rows and `d` features."""
    data = {"dataset": "synthetic", "options": {"d": d}}
    times = np.linspace(0.0, seconds, 5).tolist()
    return Run([15.0] * 5, f"d{d}", features=d, data=data, seconds=times, seed=seed, **more)


def study():
    """Return a small study with several seeds, steps and initial scales, and diverged runs."""
    runs = []
    for name, optimum in (("wdbc", 10.0), ("digits_50%", 20.0)):
        for seed in range(3):
            at = optimum + 0.1 * seed
            curve = [at + 50, at + 5, optimum + 5e-3, optimum + 5e-5, optimum, optimum]
            runs.append(Run(curve, name, "vn", seed=seed, step=0.5, optimum=optimum))
            runs.append(Run([at + 50, at + 40, at + 30], name, "vn", seed=seed, optimum=optimum))
            diverges = seed == 2
            slow = [at + 50, at + 25, at + 12, at + 6, at + 3, at + 1]
            runs.append(
                Run(
                    slow[:2] if diverges else slow,
                    name,
                    "sr-vn",
                    seed=seed,
                    step=0.1,
                    init_scale=0.1,
                    optimum=optimum,
                    status="diverged" if diverges else "completed",
                    reason="at iteration 2: the objective has blown up to 1e+09"
                    if diverges
                    else "done",
                )
            )
            runs.append(
                Run(
                    [at + 50],
                    name,
                    "mine",
                    solver_id="gd",
                    seed=seed,
                    step=7.0,
                    optimum=optimum,
                    status="diverged",
                    reason="at iteration 1: V is not positive definite",
                )
            )
    return runs
