"""Measure the overhead of a job of the workflow.

    python benchmarks/jobs.py

Two studies have runs with almost no computation, and the larger one has `EXTRA` additional runs.
The difference of their times is the time of these jobs, one at a time. Most of it is the time to
start Python and load the libraries, which is measured by starting the same number of jobs without
Snakemake. Each measurement is repeated `REPEATS` times, and the minimum is reported.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from measure import table

from gvibench.study.config import load_config
from gvibench.study.expand import expand

ROOT = Path(__file__).parents[1]
BASE, EXTRA = 2, 20
REPEATS = 3


def config(runs: int) -> dict:
    problem = {"dataset": "synthetic", "options": {"n": 50, "d": 2}}
    outputs = {"figures": [], "tables": []}
    study = {"datasets": {"tiny": problem}, "solvers": ["vn"], "step": 0.01, "beta": 1.0}
    return {"studies": {"s": {**study, "iterations": 1, "seeds": runs, "pack": 1, **outputs}}}


def seconds(command: list[str], folder: Path) -> float:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PATH": path}
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def study_seconds(folder: Path, runs: int) -> float:
    """Return the time of a study with the given number of runs, in seconds."""
    (folder / "config").mkdir(parents=True)
    shutil.copy(ROOT / "Snakefile", folder)
    for name in ("rules", "envs", "profiles"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "config/config.yaml").write_text(yaml.safe_dump(config(runs)))
    return seconds([sys.executable, "-m", "snakemake", "--cores", "1"], folder)


def direct_seconds(folder: Path) -> float:
    """Return the time of `EXTRA` jobs without Snakemake, in seconds."""
    (job,) = expand(load_config(config(1))).runs.values()
    command = [sys.executable, "-m", "gvibench.stages", "run", "--job", job.params]
    command += ["--data", job.data.path, "--out", "again.zarr.zip"]
    return sum(seconds(command, folder) for _ in range(EXTRA))


def measure() -> tuple[float, float]:
    """Return the seconds per job with Snakemake and without it."""
    small, large, direct = [], [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as name:
            small.append(study_seconds(Path(name, "small"), BASE))
            large.append(study_seconds(Path(name, "large"), BASE + EXTRA))
            direct.append(direct_seconds(Path(name, "small")))
    return (min(large) - min(small)) / EXTRA, min(direct) / EXTRA


def as_table(results: tuple[float, float]) -> str:
    per_job, direct = results
    lines = [
        ["a job of the workflow", f"{per_job:.2f}"],
        ["the same job without Snakemake", f"{direct:.2f}"],
    ]
    return table(["operation", "seconds"], lines)


if __name__ == "__main__":
    print(as_table(measure()))
