"""Measure the peak memory of complete runs, relative to the size of X.

python benchmarks/memory.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from measure import table

from gvibench.datasets.build import build
from gvibench.engine.execute import execute
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.prepared import read_prepared
from gvibench.study.defaults import complete_data

SHAPES = ((200_000, 54), (20_000, 784), (3_000, 1_500))
SOLVERS = ("vn", "sr-vn", "bw-gd")
LIMIT = 1.5
SQUARES = 16
"""Maximum number of d x d matrices of a run, in addition to its rows."""


def data(n: int, d: int) -> DataSpec:
    return complete_data({"dataset": "synthetic", "options": {"n": n, "d": d}})


def run(path: Path, solver: str) -> None:
    """Do a run of two iterations in the same way as a job of the workflow."""
    prepared = read_prepared(path)
    spec = RunSpec(data=prepared.spec, beta=1.0, solver=solver, step=1e-7, iterations=2)
    execute(spec, prepared)


def peak() -> int:
    """Return the peak memory of this process in bytes."""
    # `resource.getrusage` also counts the parent process before exec, so read the status file.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("/proc/self/status has no line VmHWM")


def peak_of_child(path: Path, solver: str) -> int:
    """Return the peak memory of a run in a separate process, in bytes."""
    command = [sys.executable, __file__, str(path), solver]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure() -> list[tuple[str, int, int, float, float]]:
    """Return solver, rows, features, size of X and peak memory above an almost empty run."""
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(data(100, 5), folder / "tiny.zarr.zip")
        base = {solver: peak_of_child(folder / "tiny.zarr.zip", solver) for solver in SOLVERS}
        for n, d in SHAPES:
            path = folder / f"{n}-{d}.zarr.zip"
            build(data(n, d), path)
            for solver in SOLVERS:
                extra = peak_of_child(path, solver) - base[solver]
                results.append((solver, n, d, 8.0 * n * d, float(extra)))
    return results


def squares_beyond(x: float, peak: float, d: int) -> float:
    """Return the memory above the limit for the rows as a number of d x d matrices."""
    return max(0.0, peak - LIMIT * x) / (8.0 * d * d)


def as_table(results: list[tuple[str, int, int, float, float]]) -> str:
    lines = [
        [
            solver,
            f"{n:,} x {d:,}",
            f"{x / 2**20:.0f}",
            f"{top / 2**20:.0f}",
            f"{top / x:.2f}",
            f"{squares_beyond(x, top, d):.1f}",
        ]
        for solver, n, d, x, top in results
    ]
    head = ["solver", "rows x d", "X, MiB", "peak, MiB", "peak / X"]
    return table([*head, f"d x d matrices beyond {LIMIT:g} X"], lines)


def missed(results: list[tuple[str, int, int, float, float]]) -> list[str]:
    """Return a sentence for each requirement that is not met."""
    return [
        f"{solver} on {n:,} x {d:,} takes {top / x:.2f} x the size of X."
        for solver, n, d, x, top in results
        if squares_beyond(x, top, d) > SQUARES
    ]


if __name__ == "__main__":
    if len(sys.argv) == 3:
        run(Path(sys.argv[1]), sys.argv[2])
        print(peak())
    else:
        peaks = measure()
        print(as_table(peaks), *missed(peaks), sep="\n")
