"""Measure the CPU time of a whole study, by stage of the workflow.

    python benchmarks/study.py [--before REVISION] [--config CONFIG] [--repeats 1] [--cores 2]

With `--before`, the study runs with the code of a git revision and with the present code, one after
the other in each repetition. The config must be valid for both; by default it is the default config
of that revision. Each study starts in an empty folder. Every Python process writes its CPU time
when it ends, so that the time of each stage is known. The rest is Snakemake's own.
"""

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from aggregation import BEFORE, NOW, ROOT, checked_out
from measure import table

ACCOUNT = """
import atexit, os, resource, sys

def write():
    if not sys.argv[0].endswith(("stages.py", "worker.py")):  # the latter in early versions
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    line = f"{sys.argv[1]} {used.ru_utime + used.ru_stime}\\n"
    with open(os.environ["GVIBENCH_ACCOUNT"], "a") as account:
        account.write(line)

atexit.register(write)
"""
"""Code of `sitecustomize`, which Python imports at start."""
FOLDERS = ("rules", "envs", "profiles", "config")
REST = "snakemake"


@dataclass
class Usage:
    """CPU seconds and number of jobs, by stage."""

    seconds: dict[str, float] = field(default_factory=dict)
    jobs: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """CPU seconds of the whole study."""
        return sum(self.seconds.values())


def run_study(source: Path, config: Path, cores: int) -> Usage:
    """Run a study from nothing with the code at `source`, and return what it used."""
    root = source.parent
    with tempfile.TemporaryDirectory(prefix="gvibench-study-") as name:
        folder = Path(name)
        shutil.copy(root / "Snakefile", folder)
        for part in FOLDERS:
            shutil.copytree(root / part, folder / part)
        shutil.copy(config, folder / "config/measured.yaml")
        (folder / "account").mkdir()
        (folder / "account/sitecustomize.py").write_text(ACCOUNT)
        # The rules use the package next to the Snakefile.
        (folder / "src").symlink_to(source)
        bin_folder = str(Path(sys.executable).parent)
        environment = {
            **os.environ,
            "GVIBENCH_ACCOUNT": str(folder / "account/lines"),
            "PYTHONPATH": f"{folder / 'account'}:{folder / 'src'}",
            "PATH": os.pathsep.join([bin_folder, os.environ["PATH"]]),
        }
        command = ["snakemake", "--cores", str(cores), "--configfile", "config/measured.yaml"]
        before = _children()
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"the study failed:\n{done.stderr[-3000:]}")
        lines = [line.split() for line in (folder / "account/lines").read_text().splitlines()]
        used = Usage()
        for stage, seconds in lines:
            used.seconds[stage] = used.seconds.get(stage, 0.0) + float(seconds)
            used.jobs[stage] = used.jobs.get(stage, 0) + 1
        used.seconds[REST] = _children() - before - used.total
        return used


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(
    before: str | None = None,
    config: Path | None = None,
    repeats: int = 1,
    cores: int = 2,
) -> dict[str, Usage]:
    """Return the median usage of each version of the code."""
    with contextlib.ExitStack() as stack:
        sources = {NOW: ROOT / "src"}
        if before is not None:
            sources = {BEFORE: stack.enter_context(checked_out(before)), **sources}
        config = config or next(iter(sources.values())).parent / "config/config.yaml"
        for source in sources.values():
            subprocess.run([sys.executable, "-m", "compileall", "-q", str(source)], check=True)
        used: dict[str, list[Usage]] = {code: [] for code in sources}
        for _ in range(repeats):
            for code, source in sources.items():
                used[code].append(run_study(source, config, cores))
                print(f"{code}: {used[code][-1].total:.0f} CPU s", file=sys.stderr, flush=True)
    return {code: _median(usages) for code, usages in used.items()}


def _median(usages: list[Usage]) -> Usage:
    stages = Counter(stage for usage in usages for stage in usage.seconds)
    seconds = {s: median(usage.seconds.get(s, 0.0) for usage in usages) for s in stages}
    return Usage(seconds, usages[0].jobs)


def as_table(results: dict[str, Usage]) -> str:
    stages = list(dict.fromkeys(stage for usage in results.values() for stage in usage.seconds))
    lines = []
    for stage in stages:
        cells = []
        for usage in results.values():
            jobs = str(usage.jobs.get(stage, "-"))
            cells += [jobs, f"{usage.seconds.get(stage, 0.0):.1f}"]
        lines.append([stage, *cells])
    totals = [
        cell for u in results.values() for cell in (str(sum(u.jobs.values())), f"{u.total:.1f}")
    ]
    head = [f"{word}, {code}" for code in results for word in ("jobs", "CPU s")]
    return table(["stage", *head], [*lines, ["all", *totals]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", metavar="REVISION", help="git revision to compare with")
    parser.add_argument("--config", type=Path, help="config file (default: the default study)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N")
    parser.add_argument("--cores", type=int, default=2, metavar="N")
    options = parser.parse_args()
    print(as_table(measure(options.before, options.config, options.repeats, options.cores)))


if __name__ == "__main__":
    main()
