"""Start a real Slurm cluster for the tests in this folder."""

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


def wait_for(condition: Callable[[], T], seconds: float = 450.0) -> T:
    """Call a function until its result is true, and return the result."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"no result after {seconds:.0f} s"
        time.sleep(0.2)
    return result


class Worker(NamedTuple):
    """Process of a Slurm job that does a run."""

    pid: int
    job: str
    node: str


class Slurm:
    """Test cluster, with methods to list its jobs and to disturb them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def jobs(self) -> list[dict[str, str]]:
        """Return the properties of all jobs so far."""
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
        """Return the processes that currently do runs in a folder, by the path of the trace."""
        workers = {}
        for process in Path("/proc").iterdir():
            try:
                words = (process / "cmdline").read_text().split("\0")
                in_folder = (process / "cwd").readlink() == folder
                environment = (process / "environ").read_text().split("\0")
            except OSError:  # not a process, or one that has ended
                continue
            if in_folder and words[1:4] == ["-m", "gvibench.stages", "run"]:
                variables = dict(pair.split("=", 1) for pair in environment if "=" in pair)
                out = words[words.index("--out") + 1]
                workers[out] = Worker(
                    int(process.name), variables["SLURM_JOB_ID"], variables["SLURMD_NODENAME"]
                )
        return workers

    def kill_node(self, node: str) -> None:
        """Kill the daemon of a node and its processes, like a power cut."""
        jobs_on_node = {job["JobId"] for job in self.jobs() if job["NodeList"] == node}
        os.kill(int((self._folder / f"run/slurmd.{node}.pid").read_text()), signal.SIGKILL)
        # A process may start another one while the list is read, so repeat until none is left.
        wait_for(lambda: not self._kill_processes(node, jobs_on_node))

    def _kill_processes(self, node: str, jobs: set[str]) -> int:
        """Kill the processes on a node and those of its jobs, and return their number."""
        killed = 0
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # the process has ended
                step = re.match(r"slurmstepd: \[(\d+)\.", (process / "cmdline").read_text())
                inside = f"SLURMD_NODENAME={node}\0" in (process / "environ").read_text()
                if inside or (step and step[1] in jobs):
                    os.kill(int(process.name), signal.SIGKILL)
                    killed += 1
        return killed

    def restart_node(self, node: str) -> None:
        """Start the daemon of a node again."""
        start = 'setsid nohup slurmd -D -N "$0" >"$1" 2>&1 </dev/null & echo $! >"$2"'
        files = [self._folder / f"{kind}/slurmd.{node}" for kind in ("log", "run")]
        names = [f"{file}.{end}" for file, end in zip(files, ("out", "pid"), strict=True)]
        subprocess.run(["bash", "-c", start, node, *names], check=True)

    def start_requeued(self) -> None:
        """Start requeued jobs now instead of after two minutes."""
        for job in self.jobs():
            if job["JobState"] == "PENDING" and job["Restarts"] != "0":
                command = ["scontrol", "update", f"JobId={job['JobId']}", "StartTime=now"]
                subprocess.run(command, check=True)


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
            pytest.skip(f"cannot start a test cluster: {started.stderr}")
        yield Slurm(folder)
    finally:
        subprocess.run([HERE / "slurm_down.sh", folder], check=True)


def on_slurm(project: Project, *words: str, profile: str = "slurm") -> list[str]:
    """Return the command that runs a project on the cluster."""
    return [
        *(sys.executable, "-m", "snakemake", "--workflow-profile", f"profiles/{profile}"),
        *("--slurm-init-seconds-before-status-checks", "8", "--latency-wait", "5"),
        *words,
    ]
