"""kill -9 at chosen and at random moments: the next `snakemake` ends as if nothing had happened.

A round kills every job of one stage, each at another moment of one phase. Jobs of one round do not
depend on each other, so every kill is an experiment of its own.
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
    "gap": "best-seen",
    "figures": ["gap"],
    "tables": ["performance"],
}
PHASES = ("step", "write", "rename", "aggregate", "table", "figure")
TRACES = "results/*/runs/**/*.zarr.zip"
MADE_BY = {
    **dict.fromkeys(("step", "write", "rename"), TRACES),
    "aggregate": "results/*/aggregate.zarr.zip",
    "table": "results/*/tables/*.csv",
    "figure": "results/*/figures/*.pdf",
}
"""The outputs of the jobs of a phase, or the first of the outputs of each."""
WITH_SNAKEMAKE = 2
"""So many jobs are left to do when the first of them takes Snakemake along."""


class Battlefield:
    """A finished project, and copies of it in which one stage is to be done again."""

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

    def attack(self, phase: str, seed: int, *, whole: bool) -> None:
        """Kill every job of a phase (or the first one and Snakemake), start again, compare."""
        project, targets = self._with_work_left(phase, WITH_SNAKEMAKE if whole else None)
        log = project.folder / "kills.log"
        order = {"phase": phase, "seed": seed, "whole": whole, "log": str(log)}
        done = self._run(project, targets, GVIBENCH_KILL=json.dumps(order))
        assert done.returncode != 0
        assert "Traceback" not in done.stdout + done.stderr
        kills = log.read_text().splitlines()
        # With Snakemake a second worker may have come to the same point just before it died.
        assert len(kills) >= 1 if whole else len(kills) == len(targets)
        self._recover(project, targets, unlock=whole)
        name = f"{phase}, with Snakemake" if whole else phase
        self.killed.update({name: 1 if whole else len(kills)})

    def attack_snakemake(self, rng: random.Random) -> None:
        """Kill Snakemake and all its jobs at a random moment of a whole study."""
        project, targets = self._with_work_left("step", 2 * WITH_SNAKEMAKE)
        done_before = self._traces(project)
        process = subprocess.Popen(
            project.command("--", *targets),
            cwd=project.folder,
            env=project.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wanted = rng.randrange(len(targets))
        while process.poll() is None and self._traces(project) < done_before + wanted:
            time.sleep(0.02)
        time.sleep(rng.random())
        os.killpg(process.pid, signal.SIGKILL)
        was_killed = process.wait() == -signal.SIGKILL  # else it was just done
        self._recover(project, targets, unlock=True)
        self.killed.update({"a random moment, with Snakemake": int(was_killed)})

    def _with_work_left(self, phase: str, most: int | None) -> tuple[Project, list[str]]:
        """Return a copy without the outputs of a phase, and what to ask for."""
        self._rounds += 1
        project = self.finished.copy(self.folder / f"round-{self._rounds}")
        targets = sorted(project.folder.glob(MADE_BY[phase]))[:most]
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
        # Whatever has its final name is whole, also before anything is mended.
        for path in project.folder.glob("results/**/*.zarr.zip"):
            if not path.name.startswith("."):
                with open_zip(path) as root:
                    root.check_chunks()
        if unlock:
            project.snakemake("--unlock")
        project.snakemake("--", *targets)
        for path in targets:
            assert findings(project.folder / path) == findings(self.finished.folder / path), path
        shutil.rmtree(project.folder)


def findings(path: Path) -> object:
    """Return all of an output that must not depend on what happened on the way."""
    if "/runs/" not in path.as_posix():
        return path.read_bytes()  # made from files that no kill has touched
    trace = read_trace(path)
    arrays = {**trace.scalars, "mean": trace.mean, **trace.factors, "iteration": trace.iteration}
    arrays.pop("seconds")
    words = [trace.attrs[name] for name in ("spec_hash", "code_hash", "status", "reason")]
    return words, {name: np.asarray(values).tobytes() for name, values in sorted(arrays.items())}


def test_one_kill_in_every_phase(tmp_path):
    """The quick part: two runs, one aggregate, one table, one figure; then Snakemake itself."""
    field = Battlefield(tmp_path, studies=1)
    for phase in PHASES:
        field.attack(phase, seed=1, whole=False)
    field.attack("write", seed=2, whole=True)


@pytest.mark.slow
def test_fifty_kills(tmp_path, capsys):
    field = Battlefield(tmp_path, studies=5)
    for phase in PHASES:
        field.attack(phase, seed=3, whole=False)
    for phase in PHASES:
        field.attack(phase, seed=4, whole=True)
    rng = random.Random(5)
    for _ in range(4):
        field.attack_snakemake(rng)
    with capsys.disabled():
        print("", *(f"{count:3} kills in {name}" for name, count in field.killed.items()), sep="\n")
    by_phase: Counter[str] = Counter()
    for name, count in field.killed.items():
        by_phase[name.partition(",")[0]] += count
    assert by_phase.total() >= 50
    assert all(by_phase[phase] >= 5 for phase in PHASES)
