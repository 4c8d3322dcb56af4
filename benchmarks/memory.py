"""Peak memory of whole runs, from reading the data to the trace, against the size of X.

python benchmarks/memory.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from measure import table

from gvibench.datasets import prepare
from gvibench.datasets.catalogue import complete
from gvibench.engine.execute import execute
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.prepared import read_prepared

SHAPES = ((200_000, 54), (20_000, 784), (3_000, 1_500))
SOLVERS = ("vn", "sr-vn", "bw-gd")
LIMIT = 1.5
SQUARES = 16
"""Matrices of d x d that a run may hold beside its rows."""


def data(n: int, d: int) -> DataSpec:
    return complete(DataSpec(dataset="synthetic", options={"n": n, "d": d}))


def run(path: Path, solver: str) -> None:
    """Do a run of a few iterations as a job of the workflow does it."""
    prepared = read_prepared(path)
    spec = RunSpec(data=prepared.spec, beta=1.0, solver=solver, step=1e-7, iterations=2)
    execute(spec, prepared)


def peak() -> int:
    """Return the bytes this process has held at most."""
    # Not `resource.getrusage`, which counts the process that started this one as well.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError("the kernel does not say how much memory a process has held")


def peak_of_child(path: Path, solver: str) -> int:
    """Return the bytes a run takes at most in a process of its own."""
    command = [sys.executable, __file__, str(path), solver]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure() -> list[tuple[str, int, int, float, float]]:
    """Return solver, rows, features, size of X and peak above an almost empty run, in bytes."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(data(100, 5), folder / "tiny.zarr.zip")
        base = {solver: peak_of_child(folder / "tiny.zarr.zip", solver) for solver in SOLVERS}
        for n, d in SHAPES:
            path = folder / f"{n}-{d}.zarr.zip"
            prepare(data(n, d), path)
            for solver in SOLVERS:
                more = peak_of_child(path, solver) - base[solver]
                found.append((solver, n, d, 8.0 * n * d, float(more)))
    return found


def squares_beyond(x: float, most: float, d: int) -> float:
    """Return how many matrices of d x d there are beyond the limit for the rows."""
    return max(0.0, most - LIMIT * x) / (8.0 * d * d)


def as_table(found: list[tuple[str, int, int, float, float]]) -> str:
    lines = [
        [
            solver,
            f"{n:,} x {d:,}",
            f"{x / 2**20:.0f}",
            f"{most / 2**20:.0f}",
            f"{most / x:.2f}",
            f"{squares_beyond(x, most, d):.1f}",
        ]
        for solver, n, d, x, most in found
    ]
    head = ["solver", "rows x d", "X, MiB", "peak, MiB", "peak / X"]
    return table([*head, f"d x d matrices beyond {LIMIT:g} X"], lines)


def missed(found: list[tuple[str, int, int, float, float]]) -> list[str]:
    return [
        f"{solver} on {n:,} x {d:,} takes {most / x:.2f} x the size of X."
        for solver, n, d, x, most in found
        if squares_beyond(x, most, d) > SQUARES
    ]


if __name__ == "__main__":
    if len(sys.argv) == 3:
        run(Path(sys.argv[1]), sys.argv[2])
        print(peak())
    else:
        peaks = measure()
        print(as_table(peaks), *missed(peaks), sep="\n")
