"""What a job of the workflow costs beside the work it does.

    python benchmarks/jobs.py

Two studies of runs that do next to nothing, of which the larger has `MORE` runs more: the
difference of their times is that of so many jobs, one at a time. Most of it is starting Python and
loading the libraries, which is measured by starting as many jobs by hand. Each is done `TIMES`
times, and the least time counts.
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
FEW, MORE = 2, 20
TIMES = 3


def config(runs: int) -> dict:
    problem = {"dataset": "synthetic", "options": {"n": 50, "d": 2}}
    study = {"datasets": {"tiny": problem}, "solvers": ["vn"], "step": 0.01, "beta": 1.0}
    return {
        "studies": {"s": {**study, "iterations": 1, "seeds": runs, "figures": [], "tables": []}}
    }


def seconds(command: list[str], folder: Path) -> float:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PATH": path}
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def study(folder: Path, runs: int) -> float:
    """Return the seconds that a study of so many runs takes."""
    (folder / "config").mkdir(parents=True)
    shutil.copy(ROOT / "Snakefile", folder)
    for name in ("rules", "envs", "profiles"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "config/config.yaml").write_text(yaml.safe_dump(config(runs)))
    return seconds([sys.executable, "-m", "snakemake", "--cores", "1"], folder)


def starts(folder: Path) -> float:
    """Return the seconds that `MORE` jobs take when started by hand."""
    (job,) = expand(load_config(config(1))).runs.values()
    command = [sys.executable, "-m", "gvibench.stages", "run", "--job", job.text]
    command += ["--data", job.data.path, "--out", "again.zarr.zip"]
    return sum(seconds(command, folder) for _ in range(MORE))


def measure() -> tuple[float, float]:
    """Return the seconds per job of the workflow, and those of one started by hand."""
    few, many, by_hand = [], [], []
    for _ in range(TIMES):
        with tempfile.TemporaryDirectory() as name:
            few.append(study(Path(name, "few"), FEW))
            many.append(study(Path(name, "many"), FEW + MORE))
            by_hand.append(starts(Path(name, "few")))
    return (min(many) - min(few)) / MORE, min(by_hand) / MORE


def as_table(found: tuple[float, float]) -> str:
    per_job, by_hand = found
    lines = [
        ["a job of the workflow", f"{per_job:.2f}"],
        ["the same job started by hand", f"{by_hand:.2f}"],
    ]
    return table(["what", "seconds"], lines)


if __name__ == "__main__":
    print(as_table(measure()))
