"""A real Slurm for the tests that need one."""

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from workflow.project import Project

HERE = Path(__file__).parent
T = TypeVar("T")


def wait_for(what: Callable[[], T], seconds: float = 150.0) -> T:
    """Return what a function returns, once that is something."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain"
        time.sleep(0.2)
    return found


class Worker(NamedTuple):
    """A process that makes a trace within a Slurm job."""

    pid: int
    job: str
    node: str


class Slurm:
    """The cluster: what runs on it, and ways to disturb it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def jobs(self) -> list[dict[str, str]]:
        """What Slurm knows about every job so far."""
        text = subprocess.run(
            ["scontrol", "--oneliner", "show", "jobs"], capture_output=True, text=True, check=True
        ).stdout
        return [
            dict(word.split("=", 1) for word in line.split() if "=" in word)
            for line in text.splitlines()
            if line.startswith("JobId=")
        ]

    def job(self, number: str) -> dict[str, str]:
        return next(job for job in self.jobs() if job["JobId"] == number)

    def workers(self, folder: Path) -> dict[str, Worker]:
        """Processes that make traces in a folder now, by the name of the trace."""
        found = {}
        for process in Path("/proc").iterdir():
            try:
                words = (process / "cmdline").read_text().split("\0")
                ours = (process / "cwd").readlink() == folder
                environment = (process / "environ").read_text().split("\0")
            except OSError:  # no process, or one that has just ended
                continue
            if ours and words[1:4] == ["-m", "gvibench.stages", "run"]:
                known = dict(pair.split("=", 1) for pair in environment if "=" in pair)
                out = words[words.index("--out") + 1]
                found[out] = Worker(
                    int(process.name), known["SLURM_JOB_ID"], known["SLURMD_NODENAME"]
                )
        return found

    def lose(self, node: str) -> None:
        """Kill a node's daemon and what it has started, as a power cut would."""
        here = {job["JobId"] for job in self.jobs() if job["NodeList"] == node}
        os.kill(int((self._folder / f"run/slurmd.{node}.pid").read_text()), signal.SIGKILL)
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # of a process that has just ended
                step = re.match(r"slurmstepd: \[(\d+)\.", (process / "cmdline").read_text())
                inside = f"SLURMD_NODENAME={node}\0" in (process / "environ").read_text()
                if inside or (step and step[1] in here):
                    os.kill(int(process.name), signal.SIGKILL)

    def bring_back(self, node: str) -> None:
        start = 'setsid nohup slurmd -D -N "$0" >"$1" 2>&1 </dev/null & echo $! >"$2"'
        files = [self._folder / f"{kind}/slurmd.{node}" for kind in ("log", "run")]
        names = [f"{file}.{end}" for file, end in zip(files, ("out", "pid"), strict=True)]
        subprocess.run(["bash", "-c", start, node, *names], check=True)

    def start_now(self, number: str) -> None:
        """Start a job that is back in the queue; Slurm lets it wait for two minutes."""
        subprocess.run(["scontrol", "update", f"JobId={number}", "StartTime=now"], check=True)


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    if os.getuid() != 0:
        pytest.skip("a test cluster needs root")
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("a test cluster needs gvibench[slurm]: make test-cluster")
    folder = tmp_path_factory.mktemp("slurm")
    try:
        started = subprocess.run(
            [HERE / "slurm_up.sh", folder], capture_output=True, text=True, check=False
        )
        if started.returncode:
            pytest.skip(f"no test cluster here: {started.stderr}")
        yield Slurm(folder)
    finally:
        subprocess.run([HERE / "slurm_down.sh", folder], check=True)


def on_slurm(project: Project, *words: str, profile: str = "slurm") -> list[str]:
    """The command that runs a project on the cluster."""
    return [
        *(sys.executable, "-m", "snakemake", "--workflow-profile", f"profiles/{profile}"),
        *("--slurm-init-seconds-before-status-checks", "8", "--latency-wait", "5"),
        *words,
    ]
