"""Compare the CPU time of 50 curves with gvibench, with benchopt and in a plain NumPy loop.

    python benchmarks/peers.py [--environment FOLDER] [--iterations 300] [--repeats 3] [--cores 1]

The curves are the objectives of `bw-gd` and `sr-vn` with five step sizes and five seeds each, on
2,000 synthetic rows with 20 features. Each curve has 300 iterations, as in the default study, and
the objective is evaluated at each iterate. All programs use Gauss-Hermite quadrature with 20 nodes
and one BLAS thread. The benchmark checks that all curves agree before it reports times.

All programs start in an empty folder and alternate. The times are CPU seconds of all processes,
and medians are reported. A first round is not counted, because it compiles code that later rounds
find in a cache.

benchopt has an environment of its own, because it is not a dependency of gvibench. The environment
is created in the given folder, or in a temporary one, and needs 700 MB. `bench.py` measures this
section only if the environment already exists in `ENVIRONMENT`, so that `make bench` downloads
nothing. To create it, run

    python benchmarks/peers.py --environment .venv/benchopt
"""

import argparse
import contextlib
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import yaml
from aggregation import ROOT
from measure import table

import study
from gvibench.datasets.build import build
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import read_traces
from gvibench.study.config import load_config
from gvibench.study.expand import expand

BENCHOPT = "1.10.0"
ENVIRONMENT = ROOT / ".venv/benchopt"
"""Environment of benchopt that `bench.py` uses if it exists."""
REPEATS = 3
TOLERANCE = 1e-6
"""Largest relative difference between curves that agree."""

HERE = Path(__file__).parent
ROWS = {"dataset": "synthetic", "options": {"n": 2500, "d": 20}}
"""Data set of the study. A fifth of its rows are test rows."""
PROBLEM = {
    "beta": 0.1,
    "nodes": 20,
    "init_scale": 0.1,
    "iterations": 300,
    "steps": {
        "bw-gd": [0.00001, 0.00003, 0.0001, 0.0003, 0.0005],
        "sr-vn": [0.01, 0.02, 0.05, 0.1, 0.15],
    },
    "seeds": [0, 1, 2, 3, 4],
}
BENCHOPT_SEEDS = [3485632963, 1645590752, 4150349319, 334872616, 882218197]
"""Seeds that benchopt derives for five repetitions with `--seed 0`, in place of 0 to 4."""
STUDY = "peers"
FULL, CURVES, PEER, PLAIN = (
    "gvibench",
    "gvibench, `figures: []`, `tables: []`",
    f"benchopt {BENCHOPT}",
    "plain NumPy loop",
)
MAKES = {
    FULL: (
        "one trace with eight quantities per curve, a reference optimum, aggregate, "
        "five figures in three formats, two tables, summary, report page"
    ),
    CURVES: "the same without figures and tables",
    PEER: "one Parquet file with the objective of all curves, a cache, an HTML report",
    PLAIN: "one NPZ file with the objective of all curves",
}
"""Output of each program, in the order in which they alternate."""
EXPORT = """
import sys, pandas
columns = ["solver_name", "p_solver_step", "idx_rep", "stop_val", "objective_value"]
pandas.read_parquet(sys.argv[1])[columns].to_csv(sys.argv[2], index=False)
"""

Curves = dict[tuple[str, float, int], np.ndarray]
"""Objective at each iterate, by solver, step size and seed."""


@dataclass(frozen=True)
class Results:
    """Median CPU seconds of each program, and the stages of the studies."""

    seconds: dict[str, float]
    stages: dict[str, study.Usage]


def available(environment: Path = ENVIRONMENT) -> bool:
    """Return whether benchopt is installed in a folder."""
    return (environment / "bin/benchopt").exists()


def install(environment: Path) -> None:
    """Install benchopt in a folder, unless it is installed there."""
    python = str(environment / "bin/python")
    if not available(environment):
        venv.create(environment, with_pip=True, symlinks=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"benchopt=={BENCHOPT}"], check=True)
    code = "import importlib.metadata as m; print(m.version('benchopt'))"
    found = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    if found.stdout.strip() != BENCHOPT:
        raise RuntimeError(
            f"{environment} contains benchopt {found.stdout.strip()}, but this benchmark needs "
            f"{BENCHOPT}; remove the folder"
        )


def measure(environment: Path | None = None, repeats: int = REPEATS, cores: int = 1) -> Results:
    """Return the median CPU time of each program.

    Parameters
    ----------
    environment
        Folder with the environment of benchopt, which is created if it does not exist (default: a
        temporary folder).
    repeats
        Number of counted rounds.
    cores
        Number of jobs that Snakemake runs at the same time.
    """
    with contextlib.ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gvibench-peers-")))
        environment = (environment or base / "environment").absolute()
        install(environment)
        source = ROOT / "src"
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(source)], check=True)
        rows = _write_rows(base)
        seconds: dict[str, list[float]] = {name: [] for name in MAKES}
        usages: dict[str, list[study.Usage]] = {FULL: [], CURVES: []}
        for turn in range(repeats + 1):
            curves: dict[str, Curves] = {}
            for name in MAKES:
                folder = base / "measured"
                folder.mkdir()
                if name == PLAIN:
                    used, curves[name] = _run_plain(folder, rows)
                elif name == PEER:
                    used, curves[name] = _run_benchopt(folder, rows, environment)
                else:
                    usage, curves[name] = _run_gvibench(folder, name == FULL, cores)
                    used = usage.total
                    if turn:
                        usages[name].append(usage)
                shutil.rmtree(folder)
                if turn:
                    seconds[name].append(used)
                print(f"round {turn}, {name}: {used:.1f} CPU s", file=sys.stderr, flush=True)
            _check(curves)
    return Results(
        {name: median(values) for name, values in seconds.items()},
        {name: _middle(values) for name, values in usages.items()},
    )


def _middle(usages: list[study.Usage]) -> study.Usage:
    """Return the usage with the median total, so that its stages add up."""
    return sorted(usages, key=lambda usage: usage.total)[len(usages) // 2]


def config(results: Path, outputs: bool = True) -> dict:
    """Return the config of the study, with its figures and tables or without them."""
    settings = {
        name: PROBLEM[name] for name in ("beta", "nodes", "init_scale", "iterations", "seeds")
    }
    study_config = {
        "datasets": {"synthetic": ROWS},
        "solvers": {solver: {"step": steps} for solver, steps in PROBLEM["steps"].items()},
        "expectation": "gauss-hermite",
        **settings,
    }
    if not outputs:
        study_config |= {"figures": [], "tables": []}
    return {"results": str(results), "studies": {STUDY: study_config}}


def _write_rows(folder: Path) -> Path:
    """Write the training rows of the study for the other programs, and return their path."""
    (data,) = expand(load_config(config(folder))).data.values()
    build(data.spec, folder / "rows.zarr.zip")
    prepared = read_prepared(folder / "rows.zarr.zip")
    np.savez(folder / "rows.npz", x=prepared.train_x, y=prepared.train_y)
    return folder / "rows.npz"


def _run_gvibench(folder: Path, outputs: bool, cores: int) -> tuple[study.Usage, Curves]:
    # The results are outside the folder of the study, which is removed when the study ends.
    settings = config(folder / "results", outputs)
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(settings))
    used = study.run_study(ROOT / "src", path, cores)
    curves = {}
    for job in expand(load_config(settings)).of_study(STUDY):
        for trace in read_traces(job.path):
            spec = trace.spec
            # The variances are so small that the curves hardly depend on the number of nodes.
            if (spec["expectation"], spec["nodes"]) != ("gauss-hermite", PROBLEM["nodes"]):
                raise RuntimeError(f"{job.path} has other expectations than the other programs")
            key = (spec["solver"], spec["step"], spec["seed"])
            curves[key] = trace.scalars["objective"]
    return used, curves


def _run_benchopt(folder: Path, rows: Path, environment: Path) -> tuple[float, Curves]:
    benchmark = folder / "benchopt_vi"
    shutil.copytree(HERE / "benchopt_vi", benchmark, ignore=shutil.ignore_patterns("__pycache__"))
    (benchmark / "benchmark_utils").mkdir()
    (benchmark / "benchmark_utils/__init__.py").touch()
    shutil.copy(HERE / "plain_numpy.py", benchmark / "benchmark_utils")
    (benchmark / "benchmark_utils/seeds.py").write_text(f"SEEDS = {BENCHOPT_SEEDS}\n")
    shutil.copy(rows, benchmark)
    fixed = ",".join(f"{name}={PROBLEM[name]}" for name in ("beta", "nodes", "init_scale"))
    command = [str(environment / "bin/benchopt"), "run", str(benchmark), "--no-display"]
    command += ["--objective", f"Gaussian variational inference[{fixed}]", "--output", "curves"]
    for solver, steps in PROBLEM["steps"].items():
        command += ["--solver", f"{solver}[step={steps}]"]
    command += ["--max-runs", str(PROBLEM["iterations"]), "--seed", "0"]
    command += ["--n-repetitions", str(len(PROBLEM["seeds"]))]
    used = _cpu_seconds(command, folder)

    output, exported = benchmark / "outputs/curves.parquet", folder / "curves.csv"
    subprocess.run(
        [str(environment / "bin/python"), "-c", EXPORT, str(output), str(exported)], check=True
    )
    points: dict[tuple[str, float, int], dict[int, float]] = {}
    with exported.open(newline="") as lines:
        for line in csv.DictReader(lines):
            solver = line["solver_name"].partition("[")[0]
            seed = int(line["idx_rep"])
            curve = points.setdefault((solver, float(line["p_solver_step"]), seed), {})
            curve[int(line["stop_val"])] = float(line["objective_value"])
    return used, {key: np.array([p for _, p in sorted(c.items())]) for key, c in points.items()}


def _run_plain(folder: Path, rows: Path) -> tuple[float, Curves]:
    (folder / "problem.json").write_text(json.dumps(PROBLEM))
    shutil.copy(rows, folder)
    used = _cpu_seconds([sys.executable, str(HERE / "plain_curves.py"), str(folder)], folder)
    with np.load(folder / "curves.npz") as arrays:
        curves = {tuple(name.split()): arrays[name] for name in arrays}
    return used, {(solver, float(step), int(seed)): c for (solver, step, seed), c in curves.items()}


def _cpu_seconds(command: list[str], folder: Path) -> float:
    """Run a command with one BLAS thread, and return the CPU time of all its processes."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    )
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise RuntimeError(f"{command[0]} failed:\n{output.read()[-3000:]}")
    return used.ru_utime + used.ru_stime


def _check(curves: dict[str, Curves]) -> None:
    """Raise RuntimeError unless all programs have computed the same curves."""
    expected = {
        (solver, step, seed)
        for solver, steps in PROBLEM["steps"].items()
        for step in steps
        for seed in PROBLEM["seeds"]
    }
    reference = curves[PLAIN]
    for name, found in curves.items():
        if set(found) != expected:
            raise RuntimeError(f"{name} has computed {len(found)} curves, not {len(expected)}")
        for key, curve in found.items():
            if len(curve) != PROBLEM["iterations"] + 1:
                raise RuntimeError(f"{name}: the curve of {key} has {len(curve)} points")
            difference = np.max(np.abs(curve - reference[key]) / np.abs(reference[key]))
            if not difference <= TOLERANCE:
                raise RuntimeError(f"{name}: the curve of {key} differs by {difference:.1e}")


def as_table(results: Results) -> str:
    peer, plain = results.seconds[PEER], results.seconds[PLAIN]
    lines = [
        [name, MAKES[name], f"{used:.1f}", f"{used / peer:.2f}", f"{used / plain:.2f}"]
        for name, used in results.seconds.items()
    ]
    return table(["program", "output", "CPU s", "relative to benchopt", "relative to NumPy"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--environment", type=Path, help="folder for the environment of benchopt")
    parser.add_argument("--iterations", type=int, default=PROBLEM["iterations"], metavar="N")
    parser.add_argument("--repeats", type=int, default=REPEATS, metavar="N")
    parser.add_argument("--cores", type=int, default=1, metavar="N")
    options = parser.parse_args()
    PROBLEM["iterations"] = options.iterations
    results = measure(options.environment, options.repeats, options.cores)
    print(as_table(results), study.as_table(results.stages), sep="\n\n")


if __name__ == "__main__":
    main()
