"""Measure CPU time and memory of the aggregation and of the analysis, at several sizes of a study.

    python benchmarks/aggregation.py [--before REVISION] [--runs 500 5000 50000] [--points 200]
                                     [--only aggregate table figure] [--folder FOLDER]

With `--before`, the code of a git revision and the present code alternate on the same traces. The
benchmark also compares their tables and figures. Each measurement is a separate process, so that it
includes the imports of a job. CPU time includes all worker processes. Memory is sampled.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil
from made_traces import STUDY
from measure import table

ROOT = Path(__file__).parents[1]
RUNS = (500, 5_000, 50_000)
PAGE_RUNS = (500, 5_000)
"""Sizes for docs/performance.md. The largest size takes a quarter of an hour."""
POINTS = 200
REPEATS, LARGE = 3, 5_000
"""Number of repetitions, and the size of a study above which nothing is repeated."""
SAMPLING_SECONDS = 0.05
BEFORE, NOW = "before", "now"

STYLE = {"width": "page", "font_size": 8.0, "center": "median"}
TABLE_JOB = {"table": "performance", "study": STUDY, "code_hash": ""}
FIGURE_JOB = {"figure": "gap", "study": STUDY, "style": STYLE, "code_hash": ""}
# A job gets the folder of the traces and the folder of its results. Failed tables and figures
# contain their error, so the jobs look for it.
PATHS = "import sys; from pathlib import Path; traces, out = map(Path, sys.argv[1:])\n"
READ = f"""{PATHS}
import json
rows = json.loads((traces / "manifest.json").read_text())["runs"]
curves = json.loads((traces / "manifest.json").read_text())["curves"]
"""
JOBS = {
    "aggregate": f"""{PATHS}
from gvibench.study.aggregate import aggregate
try:  # two workers, as in the workflow
    from gvibench.study.parallel import Dask
    workers = {{"dask": Dask(2, 2000)}}
except ImportError:  # an earlier revision, which uses all cores
    workers = {{}}
if __name__ == "__main__":
    aggregate(traces / "manifest.json", out / "aggregate.zarr.zip", root=traces, **workers)
""",
    "table": f"""{PATHS}
import json
from gvibench.stages import main
files = ["--aggregate", str(out / "aggregate.zarr.zip"), "--out", str(out / "performance.csv")]
main(["table", "--job", json.dumps({TABLE_JOB}), *files])
assert "could not be made" not in (out / "performance.csv").read_text()
""",
    "figure": f"""{PATHS}
import json
from gvibench.stages import main
files = ["--aggregate", str(out / "aggregate.zarr.zip"), "--out", str(out / "gap.pdf")]
main(["figure", "--job", json.dumps({FIGURE_JOB}), *files])
assert '"error"' not in (out / "gap.json").read_text()
""",
    "zarr": f"""{READ}
import zarr
from zarr.storage import ZipStore
for row in rows:
    with ZipStore(traces / row["path"], mode="r") as store:
        group = zarr.open_group(store, mode="r")
        for name in curves:
            group[name][:]
""",
    "xarray": f"""{READ}
import xarray as xr
for row in rows:
    with xr.open_zarr(f"zip::{{traces / row['path']}}", consolidated=False) as dataset:
        dataset[curves].load()
""",
}
"""Python code of each job, by name."""
STAGES = ("aggregate", "table", "figure")
READERS = ("zarr", "xarray")
"""Jobs that only read the traces, for comparison. They do not use gvibench."""
TITLES = {
    "aggregate": "aggregate",
    "table": "table `performance`",
    "figure": "figure `gap`",
    "zarr": "read all traces with zarr",
    "xarray": "read all traces with xarray",
}
OUTPUTS = {"table": "performance.csv", "figure": "gap.png"}
"""Files that are compared between both versions of the code."""


@dataclass(frozen=True)
class Usage:
    """Resources of a process with its children."""

    cpu_seconds: float
    largest: float
    """Peak memory of the largest process in bytes."""
    together: float
    """Peak of the summed memory of all processes in bytes."""


@dataclass(frozen=True)
class Result:
    """Median usage of one job at one size."""

    runs: int
    job: str
    code: str
    usage: Usage
    same: bool = True
    """Whether the output of the job is identical to the output before."""


def run(words: Sequence[str], source: Path) -> Usage:
    """Run Python with the given arguments and source folder, and return what it used."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    largest = together = 0.0
    with tempfile.TemporaryFile("w+") as errors:
        outputs = {"stdout": subprocess.DEVNULL, "stderr": errors}
        process = subprocess.Popen([sys.executable, *words], env=environment, **outputs)
        root = psutil.Process(process.pid)
        while True:
            ended, status, used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            sizes = [_memory(one) for one in _tree(root)]
            largest, together = max(largest, *sizes), max(together, sum(sizes))
            time.sleep(SAMPLING_SECONDS)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(f"a job failed:\n{errors.read()}")
    return Usage(used.ru_utime + used.ru_stime, largest, together)


def _tree(root: psutil.Process) -> list[psutil.Process]:
    try:
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return [root]


def _memory(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0.0


@contextlib.contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Yield the source folder of a revision in a temporary git worktree."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory(prefix="gvibench-before-") as name:
        folder = str(Path(name) / "tree")
        subprocess.run([*git, "add", "--quiet", "--detach", folder, revision], check=True)
        try:
            yield Path(folder) / "src"
        finally:
            subprocess.run([*git, "remove", "--force", folder], check=True)


def measure(
    sizes: Sequence[int] = PAGE_RUNS,
    points: int = POINTS,
    jobs: Sequence[str] = (*STAGES, *READERS),
    before: str | None = None,
    folder: Path | None = None,
) -> list[Result]:
    """Return the usage of each job at each size.

    Parameters
    ----------
    sizes
        Numbers of runs.
    points
        Maximum number of records of a run.
    jobs
        Names of the jobs in `JOBS`. The readers are measured at the smallest size only.
    before
        Git revision that is measured, too.
    folder
        Folder for the traces, which a later call reads again (default: a temporary folder).
    """
    results = []
    with contextlib.ExitStack() as stack:
        sources = {NOW: ROOT / "src"}
        if before is not None:
            sources = {BEFORE: stack.enter_context(checked_out(before)), **sources}
        for source in sources.values():  # the first job must not compile the others' modules
            subprocess.run([sys.executable, "-m", "compileall", "-q", str(source)], check=True)
        base = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for runs in sizes:
            traces = base / f"{runs}-runs-{points}-points"
            if not (traces / "manifest.json").exists():
                words = [str(Path(__file__).with_name("made_traces.py")), str(traces)]
                run([*words, str(runs), str(points)], sources[NOW])
            chosen = [job for job in jobs if job in STAGES or runs == min(sizes)]
            with tempfile.TemporaryDirectory() as out:
                results += _measure_size(runs, chosen, sources, traces, Path(out))
    return results


def _measure_size(
    runs: int, jobs: Sequence[str], sources: dict[str, Path], traces: Path, out: Path
) -> list[Result]:
    # Tables and figures need an aggregate, even if it is not measured.
    needed = [
        name for name in JOBS if name in jobs or (name == "aggregate" and set(jobs) & set(STAGES))
    ]
    results = []
    for job in needed:
        codes = [NOW] if job in READERS else list(sources)
        repeats = REPEATS if runs <= LARGE and job in jobs and job in STAGES else 1
        usages: dict[str, list[Usage]] = {code: [] for code in codes}
        for _ in range(repeats):
            for code in codes:
                (out / code).mkdir(exist_ok=True)
                words = ["-c", JOBS[job], str(traces), str(out / code)]
                usages[code].append(run(words, sources[code]))
        same = (
            job not in OUTPUTS or len({(out / c / OUTPUTS[job]).read_bytes() for c in codes}) == 1
        )
        results += [Result(runs, job, code, _median(usages[code]), same) for code in codes]
        print(f"measured {runs:,} runs: {TITLES[job]}", file=sys.stderr, flush=True)
    return [result for result in results if result.job in jobs]


def _median(usages: Sequence[Usage]) -> Usage:
    fields = ("cpu_seconds", "largest", "together")
    return Usage(*(median(getattr(usage, field) for usage in usages) for field in fields))


def as_table(results: Sequence[Result]) -> str:
    compared = len({result.code for result in results}) > 1
    lines = []
    for r in results:
        memory = [f"{value / 2**20:,.0f}" for value in (r.usage.largest, r.usage.together)]
        code = [r.code] if compared else []
        lines.append([f"{r.runs:,}", TITLES[r.job], *code, f"{r.usage.cpu_seconds:,.1f}", *memory])
    code = ["code"] if compared else []
    memory = ["largest process, MiB", "all processes, MiB"]
    return table(["runs", "job", *code, "CPU seconds", *memory], lines)


def differences(results: Sequence[Result]) -> list[str]:
    """Return a sentence for each output that differs between both versions of the code."""
    return [
        f"The {TITLES[r.job]} of {r.runs:,} runs differs between both versions of the code."
        for r in results
        if r.code == NOW and not r.same
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", metavar="REVISION", help="git revision to compare with")
    parser.add_argument("--runs", type=int, nargs="+", default=RUNS, metavar="N")
    parser.add_argument("--points", type=int, default=POINTS, metavar="N")
    parser.add_argument("--only", nargs="+", default=STAGES, choices=list(JOBS), metavar="JOB")
    parser.add_argument("--folder", type=Path, help="folder for the traces, to use them again")
    options = parser.parse_args()
    results = measure(options.runs, options.points, options.only, options.before, options.folder)
    print(as_table(results), *differences(results), sep="\n")


if __name__ == "__main__":
    main()
