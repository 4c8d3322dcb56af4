"""Kill jobs and Snakemake with SIGKILL, and check that a restart gives the same results.

A round kills each job of one stage at a different moment of one phase. Jobs of a round do not
depend on each other, so the kills are independent experiments.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from project import Project

from gvibench.store.traces import read_trace
from gvibench.store.zarrzip import open_zip

SHIM = Path(__file__).parent / "shim"
STUDY = {
    "datasets": {"toy": {"dataset": "synthetic", "options": {"n": 40, "d": 2}}},
    "solvers": ["vn"],
    "step": 0.01,
    "beta": 0.5,
    "iterations": 20,
    "seeds": 2,
    "pack": 1,
    "gap": "best-seen",
    "figures": ["gap"],
    "tables": ["performance"],
}
PHASES = ("step", "write", "rename", "aggregate", "table", "figure")
TRACES = "results/*/runs/**/*.zarr.zip"
OUTPUTS = {
    **dict.fromkeys(("step", "write", "rename"), TRACES),
    "aggregate": "results/*/aggregate.zarr.zip",
    "table": "results/*/tables/*.csv",
    "figure": "results/*/figures/*.pdf",
}
"""Pattern for one output of each job of a phase."""
JOBS_WITH_SNAKEMAKE = 2
"""Number of remaining jobs in rounds that also kill Snakemake."""


class KillRounds:
    """A finished project, and copies of it in which one stage has to be re-run."""

    def __init__(self, folder: Path, studies: int) -> None:
        self.folder = folder
        self.finished = Project.create(folder / "finished", STUDY)
        names = [chr(ord("a") + k) for k in range(studies)]
        config = {"studies": {name: {**STUDY, "title": name} for name in names}}
        self.finished.write_config(json.dumps(config))
        ends = ("tables/performance.csv", "figures/gap.pdf")
        self.finished.snakemake("--", *(f"results/{name}/{end}" for name in names for end in ends))
        self.killed: Counter[str] = Counter()
        self._rounds = 0

    def kill_jobs(self, phase: str, seed: int, *, with_snakemake: bool) -> None:
        """Kill each job of a phase (or the first one and Snakemake), start again, and compare."""
        project, targets = self._remove_outputs(
            phase, JOBS_WITH_SNAKEMAKE if with_snakemake else None
        )
        log = project.folder / "kills.log"
        order = {"phase": phase, "seed": seed, "with_snakemake": with_snakemake, "log": str(log)}
        done = self._run(project, targets, GVIBENCH_KILL=json.dumps(order))
        assert done.returncode != 0
        assert "Traceback" not in done.stdout + done.stderr
        kills = log.read_text().splitlines()
        # A second job may reach the same point before Snakemake is killed.
        assert len(kills) >= 1 if with_snakemake else len(kills) == len(targets)
        self._recover(project, targets, unlock=with_snakemake)
        name = f"{phase}, with Snakemake" if with_snakemake else phase
        self.killed.update({name: 1 if with_snakemake else len(kills)})

    def kill_snakemake(self, rng: random.Random) -> None:
        """Kill Snakemake and all its jobs at a random moment."""
        project, targets = self._remove_outputs("step", 2 * JOBS_WITH_SNAKEMAKE)
        traces_before = self._traces(project)
        process = subprocess.Popen(
            project.command("--", *targets),
            cwd=project.folder,
            env=project.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        new_traces = rng.randrange(len(targets))
        while process.poll() is None and self._traces(project) < traces_before + new_traces:
            time.sleep(0.02)
        time.sleep(rng.random())
        os.killpg(process.pid, signal.SIGKILL)
        was_killed = process.wait() == -signal.SIGKILL  # otherwise it had finished
        self._recover(project, targets, unlock=True)
        self.killed.update({"a random moment, with Snakemake": int(was_killed)})

    def _remove_outputs(self, phase: str, max_jobs: int | None) -> tuple[Project, list[str]]:
        """Return a copy of the project without the outputs of a phase, and these outputs."""
        self._rounds += 1
        project = self.finished.copy(self.folder / f"round-{self._rounds}")
        targets = sorted(project.folder.glob(OUTPUTS[phase]))[:max_jobs]
        for target in targets:
            for output in target.parent.glob(f"{target.stem}.*"):
                output.unlink()
        return project, [path.relative_to(project.folder).as_posix() for path in targets]

    def _traces(self, project: Project) -> int:
        return len(list(project.folder.glob(TRACES)))

    def _run(self, project: Project, targets: list[str], **extra: str):
        environment = project.environment()
        if extra:
            environment["PYTHONPATH"] += os.pathsep + str(SHIM)
        return subprocess.run(
            project.command("--keep-going", "--", *targets),
            cwd=project.folder,
            env=environment | extra,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )

    def _recover(self, project: Project, targets: list[str], *, unlock: bool) -> None:
        # Files with a final name must be complete, even before Snakemake is started again.
        for path in project.folder.glob("results/**/*.zarr.zip"):
            if not path.name.startswith("."):
                with open_zip(path) as root:
                    root.check_members()
        if unlock:
            project.snakemake("--unlock")
        project.snakemake("--", *targets)
        for path in targets:
            assert result(project.folder / path) == result(self.finished.folder / path), path
        shutil.rmtree(project.folder)


def result(path: Path) -> object:
    """Return the content of an output that must not depend on kills."""
    if "/runs/" not in path.as_posix():
        return path.read_bytes()  # made from the same traces
    trace = read_trace(path)
    arrays = {**trace.scalars, "mean": trace.mean, **trace.factors, "iteration": trace.iteration}
    arrays.pop("seconds")
    attrs = [trace.attrs[name] for name in ("spec_hash", "code_hash", "status", "reason")]
    return attrs, {name: np.asarray(values).tobytes() for name, values in sorted(arrays.items())}


def test_kills_in_each_phase(tmp_path):
    """Kill two runs, one aggregate, one table and one figure, then Snakemake itself."""
    rounds = KillRounds(tmp_path, studies=1)
    for phase in PHASES:
        rounds.kill_jobs(phase, seed=1, with_snakemake=False)
    rounds.kill_jobs("write", seed=2, with_snakemake=True)


@pytest.mark.slow
def test_fifty_kills(tmp_path, capsys):
    rounds = KillRounds(tmp_path, studies=5)
    for phase in PHASES:
        rounds.kill_jobs(phase, seed=3, with_snakemake=False)
    for phase in PHASES:
        rounds.kill_jobs(phase, seed=4, with_snakemake=True)
    rng = random.Random(5)
    for _ in range(4):
        rounds.kill_snakemake(rng)
    with capsys.disabled():
        print(
            "", *(f"{count:3} kills in {name}" for name, count in rounds.killed.items()), sep="\n"
        )
    by_phase: Counter[str] = Counter()
    for name, count in rounds.killed.items():
        by_phase[name.partition(",")[0]] += count
    assert by_phase.total() >= 50
    assert all(by_phase[phase] >= 5 for phase in PHASES)
