"""Read and write the trials of a tuning job: one table, and one row of objectives per trial."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gvibench.errors import UserError
from gvibench.store.zarrzip import Group, StoredGroup, open_zip, write_zip

__all__ = ["KIND", "TUNED", "Key", "StoredTrials", "Trial", "read_trials", "write_trials"]

KIND = "gvibench tuning trials"
TUNED = ("step", "init_scale")
"""Fields of a run that are tuned on a grid."""
NUMBERS = ("step", "init_scale", "seed", "seconds")
Key = tuple[float, float, int]
"""Step, initial scale and seed of a trial."""


@dataclass(frozen=True)
class Trial:
    """Result of one trial."""

    step: float
    """Step size on the whole problem. On a share of the rows, larger steps are taken."""
    init_scale: float
    seed: int
    status: str
    seconds: float
    """Solver time."""
    iteration: np.ndarray
    """Recorded iterations."""
    objective: np.ndarray
    """Objectives at the recorded iterations."""

    @property
    def key(self) -> Key:
        """Step, initial scale and seed, which identify a trial of a tuning job."""
        return self.step, self.init_scale, self.seed

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return int(self.iteration[-1])


@dataclass(frozen=True)
class StoredTrials:
    """Trials in a file."""

    identity: str
    """Hash of everything that the trials depend on besides their keys."""
    title: str
    """Solver and data set, for readers."""
    trials: list[Trial]


def write_trials(path: Path, stored: StoredTrials) -> None:
    """Write trials to one file, atomically."""
    trials = stored.trials
    status = [trial.status for trial in trials]
    attrs = {"kind": KIND, "identity": stored.identity, "title": stored.title, "status": status}
    root = Group(attrs)
    for name in NUMBERS:
        root.put(name, np.array([getattr(trial, name) for trial in trials]), ["trial"])
    root.put("records", np.array([len(trial.iteration) for trial in trials]), ["trial"])
    for name in ("iteration", "objective"):
        values = [getattr(trial, name) for trial in trials]
        root.put(name, np.concatenate(values) if values else np.empty(0), ["record"])
    write_zip(path, root)


def read_trials(path: Path) -> StoredTrials:
    """Read a file that `write_trials` has written."""
    with open_zip(path) as root:
        if root.attrs.get("kind") != KIND:
            raise UserError(f"{path} is not a file of tuning trials: use a file of a tuning job")
        try:
            trials = list(_trials(root))
            return StoredTrials(str(root.attrs["identity"]), str(root.attrs["title"]), trials)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{path} is not a complete file of tuning trials ({error}): delete the file"
            ) from error


def _trials(root: StoredGroup) -> Iterable[Trial]:
    numbers = [root.read(name).tolist() for name in NUMBERS]
    ends = np.cumsum(root.read("records")).tolist()
    iteration, objective = root.read("iteration"), root.read("objective")
    if (ends[-1] if ends else 0) != len(iteration) or len(iteration) != len(objective):
        raise ValueError("the number of records is wrong")
    columns = zip(*numbers, root.attrs["status"], [0, *ends[:-1]], ends, strict=True)
    for step, scale, seed, seconds, status, start, end in columns:
        if end <= start:
            raise ValueError("a trial has no records")
        of_trial = iteration[start:end], objective[start:end]
        yield Trial(float(step), float(scale), int(seed), str(status), float(seconds), *of_trial)
