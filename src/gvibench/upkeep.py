"""Keeping a results folder in order: bad traces, orphans, and what a study will cost."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gvibench.aggregate import check
from gvibench.datasets.prepared import read_prepared
from gvibench.errors import UserError
from gvibench.estimate import START_SECONDS, memory_mb, run_seconds, sizes, tuning_trials
from gvibench.jobs import Plan
from gvibench.optimum import read_optimum

__all__ = ["Cost", "bad_files", "estimate_cost", "orphans", "require_own_files"]

STAGE_SECONDS = {"prepare": 2.0, "optimum": 2.0, "choose": 0.8, "aggregate": 2.0, "output": 3.5}
"""Jobs whose time hardly depends on the study, start-up included."""
STALE_SECONDS = 3600.0
"""Nobody writes at one file for longer."""
JOB_SECONDS = 0.1
"""What Snakemake itself spends on a job."""
BYTES_PER_RECORD = 70
"""Of a compressed trace: eight numbers."""


def bad_files(plan: Plan) -> dict[str, str]:
    """Return every file that exists but cannot be used, and what is wrong with it."""
    bad: dict[str, str] = {}
    readers: dict[str, Callable[[str], object]] = {
        **dict.fromkeys(plan.data, read_prepared),
        **dict.fromkeys(plan.optima, read_optimum),
    }
    for path, read in readers.items():
        if Path(path).exists():
            try:
                read(path)
            except UserError as error:
                bad[path] = str(error)
    for job in plan.runs.values():
        if Path(job.path).exists():
            bad |= check(job.entries())
    return bad


def require_own_files(plan: Plan) -> None:
    """Refuse a plan whose data files of the user's are not there."""
    for job in plan.data.values():
        for path in job.own_files:
            if not Path(path).is_file():
                wrong = "is a folder" if Path(path).is_dir() else "does not exist"
                raise UserError(
                    f"data set '{job.spec.dataset}': {path} {wrong}: correct 'path', which is "
                    "relative to the folder you are in"
                )


def orphans(plan: Plan) -> list[Path]:
    """Return the files of runs and tuning that the config no longer names.

    Data and optima are left alone: studies of other configs may share them. What a kill has left
    of a file is nobody's, wherever it lies.
    """
    root = Path(plan.config.results)
    named = {*plan.runs, *plan.betas}
    for job in plan.tuning.values():
        named |= {job.choice, *job.rounds}
    folders = [
        root / study / stage for study in plan.config.studies for stage in ("runs", "tuning")
    ]
    found = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    found |= set(root.rglob(".*.part"))
    return sorted(path for path in found if path.as_posix() not in named and _is_left_over(path))


def _is_left_over(path: Path) -> bool:
    """Tell results, and what a kill left of one, from what a run is working on now."""
    if path.name.endswith(".part"):
        return time.time() - path.stat().st_mtime > STALE_SECONDS
    return not path.name.startswith(".")  # a checkpoint: its run is not done yet


@dataclass(frozen=True)
class Cost:
    """What a study will take on one machine."""

    jobs: Counter[str]
    core_seconds: float
    peak_mb: int
    disk_mb: float

    def wall_seconds(self, cores: int) -> float:
        """Return the time from start to report."""
        return self.core_seconds / cores + 3.0


def estimate_cost(plan: Plan) -> Cost:
    """Estimate jobs, time, memory and disk of everything a config asks for."""
    jobs: Counter[str] = Counter()
    seconds = disk = 0.0
    peak = 0
    for job in plan.runs.values():
        spec = job.specs[0]
        jobs["runs"] += 1
        seconds += START_SECONDS + len(job.specs) * run_seconds(spec)
        peak = max(peak, memory_mb(spec))
        every = spec.record_every if isinstance(spec.record_every, int) else spec.iterations / 200
        d = sizes(spec.data)[1]
        disk += len(job.specs) * (
            20_000
            + BYTES_PER_RECORD * spec.iterations / max(every, 1)
            + 8 * spec.snapshots * d
            + (4 * d * d if 8 * d * d < 2e6 else 0)
        )
    for tuning in plan.tuning.values():
        trials = tuning_trials(tuning)
        jobs["tuning"] += len(tuning.rounds) + 1
        # A good part of the trials diverges early.
        trial = 0.7 * run_seconds(tuning.spec, tuning.settings["rows"])
        seconds += len(tuning.rounds) * (START_SECONDS + trials * trial)
        seconds += STAGE_SECONDS["choose"]
    jobs["data and optima"] = len(plan.data) + len(plan.optima) + len(plan.betas)
    seconds += len(plan.data) * STAGE_SECONDS["prepare"]
    seconds += (len(plan.optima) + 5 * len(plan.betas)) * STAGE_SECONDS["optimum"]
    for study in plan.config.studies.values():
        outputs = len(study.figures) + len(study.tables) + 2  # and the summary and the page
        jobs["tables, figures, reports"] += outputs + 1
        seconds += STAGE_SECONDS["aggregate"] + outputs * STAGE_SECONDS["output"]
    return Cost(jobs, seconds + JOB_SECONDS * jobs.total(), peak, disk / 1e6)
