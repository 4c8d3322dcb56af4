"""Write studies of any size with made-up traces, for benchmarks and tests of the aggregation.

    python benchmarks/made_traces.py FOLDER RUNS [POINTS]

Plan and manifest are those of a real config with 5 solvers, 10 data sets and 10 seeds; the number
of steps follows from the number of runs. Objectives decay to the optimum of their data set at a
rate that depends on solver and step. Traces have the variables and attributes of real ones.
"""

import json
import math
import sys
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gvibench.spec.run import RunSpec
from gvibench.store.optima import Optimum, write_optimum
from gvibench.store.provenance import versions
from gvibench.store.traces import Trace, to_group
from gvibench.store.zarrzip import member
from gvibench.study.config import load_config
from gvibench.study.expand import expand

__all__ = ["STUDY", "write_study"]

STUDY = "made"
SPEEDS = {"vn": 0.1, "sr-vn": 0.09, "bw-gd": 0.03, "gd": 0.01, "svgd-density": 0.003}
"""Decay rate of the gap per iteration, as a multiple of the step, by solver."""
DATASETS = 10
SEEDS = 10
ITERATIONS = 10_000
TOLERANCE = 1e-7
"""Gradient norm at which runs stop early."""
CONVERGED = 1e-3
"""Gradient norm at which a run that has used all its iterations has converged."""
DIVERGED = 0.03
"""Share of the runs that diverge."""
SNAPSHOTS = 32
VERSIONS = versions()


def write_study(folder: Path, runs: int, points: int = 200) -> Path:
    """Write the traces and optima of a study, and return the path of its manifest.

    Parameters
    ----------
    folder
        Folder to write to. The paths in the manifest are relative to it.
    runs
        Number of runs. Multiples of 500 give complete grids.
    points
        Number of records of a run that neither stops early nor diverges.
    """
    steps = math.ceil(runs / (len(SPEEDS) * DATASETS * SEEDS))
    iterations = max(ITERATIONS, points)
    plan = expand(load_config(_config(steps, iterations)))
    manifest = json.loads(plan.manifest(STUDY))
    specs = {path: job.specs[0] for path, job in plan.runs.items()}
    chosen = sorted(manifest["runs"], key=lambda row: _rank(specs[row["path"]]))[:runs]
    chosen.sort(key=lambda row: row["path"])
    schedule = _log_schedule(iterations, points)
    rng = np.random.default_rng(0)
    optima: dict[str, float] = {}
    for row in chosen:
        if row["optimum"] not in optima:
            optima[row["optimum"]] = _write_optimum(folder / row["optimum"], row["dataset"])
        spec = specs[row["path"]]
        trace = _trace(rng, spec, row["code_hash"], schedule, optima[row["optimum"]])
        _write_trace(folder / row["path"], trace)
    # Newer versions of the aggregation need to know the largest number of records and the curves.
    manifest |= {"runs": chosen, "records": points, "curves": sorted({*trace.scalars} - {"step"})}
    path = folder / "manifest.json"
    path.write_text(json.dumps(manifest))
    return path


def _config(steps: int, iterations: int) -> dict[str, Any]:
    datasets = {
        f"made-{k}": {"dataset": "synthetic", "options": {"n": 100 * (k + 1), "d": 4 * (k + 1)}}
        for k in range(DATASETS)
    }
    study = {
        "title": "Traces for benchmarks",
        "datasets": datasets,
        "solvers": list(SPEEDS),
        "step": np.geomspace(1e-3, 1.0, steps).tolist() if steps > 1 else [0.1],
        "iterations": iterations,
        "tolerance": TOLERANCE,
        "record_every": "log",
        "snapshots": SNAPSHOTS,
        "seeds": SEEDS,
        "pack": 1,
        "figures": ["gap"],
        "tables": ["performance"],
    }
    return {"studies": {STUDY: study}}


def _rank(spec: RunSpec) -> tuple[int, float, str, int]:
    """Return a sort key, by which the first runs of a study have different data sets."""
    return spec.seed, spec.step, spec.solver, spec.data.options["d"]


def _log_schedule(last: int, points: int) -> np.ndarray:
    """Return distinct iterations from 0 to `last`, spaced evenly in log(iteration) if possible."""
    count = np.arange(points - 1)
    spaced = np.rint(np.geomspace(1, last, points - 1)).astype(np.int64)
    return np.concatenate([[0], np.maximum.accumulate(spaced - count) + count])


def _write_optimum(path: Path, dataset: str) -> float:
    """Write the optimum of a data set, and return its objective."""
    size = 1 + int(dataset.removeprefix("made-"))
    objective, d = 10.0 * size, 4 * size
    metrics = {name: values.item() for name, values in _metrics(np.array(objective)).items()}
    attrs = {**metrics, "smoothness": 1.0}
    write_optimum(path, Optimum(np.zeros(d), np.eye(d), attrs))
    return objective


def _metrics(objective: np.ndarray) -> dict[str, np.ndarray]:
    """Return plausible metrics for values of the objective."""
    return {
        "objective": objective,
        "neg_elbo": objective + 5.0,
        "train_elbo_paper": objective - 2.0,
        "test_nll": 0.3 * objective,
        "test_nll_at_mean": 0.01 * objective,
        "test_accuracy": np.rint(97 - np.minimum(40, 0.1 * objective)) / 100,
    }


class _Ending(NamedTuple):
    iteration: np.ndarray
    gap: np.ndarray
    status: str
    reason: str


def _trace(
    rng: np.random.Generator, spec: RunSpec, code_hash: str, schedule: np.ndarray, optimum: float
) -> Trace:
    end = _ending(rng, spec, schedule)
    count, d = len(end.iteration), spec.data.options["d"]
    scalars = _metrics(optimum + end.gap)
    scalars["grad_norm"] = np.sqrt(2 * end.gap)
    scalars["evaluations"] = scalars["data_passes"] = end.iteration + 1.0
    scalars["step"] = np.full(count, spec.step)
    scalars["seconds"] = (
        1e-5 * d * np.cumsum(np.diff(end.iteration, prepend=0) * _noise(rng, count))
    )
    snapshot = end.iteration[np.unique(np.linspace(0, count - 1, SNAPSHOTS).astype(int))]
    seconds = float(scalars["seconds"][-1])
    attrs = {
        "spec": spec.canonical(),
        "spec_hash": spec.spec_hash,
        "code_hash": code_hash,
        "status": end.status,
        "reason": end.reason,
        "iterations_done": int(end.iteration[-1]),
        "step_used": spec.step,
        "rejected_steps": 0,
        "screened_steps": 0,
        "indefinite_steps": 0,
        "results": {},
        "solver_form": "dense",
        "device": "cpu",
        "dtype": "float64",
        "threads": 1,
        "exclusive": False,
        "versions": VERSIONS,
        "n_train": 80 * d // 4,
        "n_test": 20 * d // 4,
        "d": d,
        "host": "made",
        "wall_seconds": 1.2 * seconds,
        "cpu_seconds": 1.1 * seconds,
        "warmup_seconds": 1e-3,
    }
    return Trace(end.iteration, scalars, attrs, snapshot, rng.standard_normal((len(snapshot), d)))


def _ending(rng: np.random.Generator, spec: RunSpec, schedule: np.ndarray) -> _Ending:
    """Return recorded iterations and gaps of a run, and how it ends."""
    if rng.random() < DIVERGED:
        # A run that diverges records its last finite iterate, also outside the schedule.
        last = int(np.exp(rng.uniform(0.0, np.log(min(1000, schedule[-1])))))
        iteration = np.append(schedule[schedule < last], last)
        gap = 50.0 * np.exp(10.0 * iteration / last) * _noise(rng, len(iteration))
        reason = f"at iteration {last + 1}: the objective has blown up to 1e+09"
        return _Ending(iteration, gap, "diverged", reason)
    rate = SPEEDS[spec.solver] * spec.step
    gap = 50.0 * rng.uniform(0.5, 2.0) * np.exp(-rate * schedule) * _noise(rng, len(schedule))
    small = np.sqrt(2 * gap) <= TOLERANCE
    count = 1 + small.argmax() if small.any() else len(schedule)
    norm = math.sqrt(2 * gap[count - 1])
    status = "converged" if norm <= CONVERGED else "completed"
    reason = f"{schedule[count - 1]} iterations done; gradient norm {norm:.3g}"
    return _Ending(schedule[:count], gap[:count], status, reason)


def _noise(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return factors close to 1, because the digits of real curves hardly compress."""
    return 1.0 + 0.01 * rng.random(count)


def _write_trace(path: Path, trace: Trace) -> None:
    """Write a trace as `write_trace` does, but do not flush it to disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in to_group(trace).members():
            archive.writestr(*member(name, content))


if __name__ == "__main__":
    print(write_study(Path(sys.argv[1]), *map(int, sys.argv[2:])))
