"""Locate the checkpoint of a run and read its progress."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from gvibench.errors import UserError
from gvibench.spec.metrics import METRICS
from gvibench.store.zarrzip import open_zip

__all__ = [
    "KIND",
    "checkpoint_iteration",
    "checkpoint_objectives",
    "checkpoint_path",
    "finished_path",
    "finished_runs",
]

KIND = "gvibench checkpoint"


def checkpoint_path(out: Path) -> Path:
    """Return the path of the checkpoint of the run that writes `out`."""
    return out.with_name(f".{out.name}.checkpoint")


def finished_path(out: Path, name: str) -> Path:
    """Return the path of the trace of a finished run, until the job has written all to `out`."""
    return out.with_name(f".{out.name}.{name}")


def finished_runs(out: Path, names: Iterable[str]) -> int:
    """Return how many runs of an unfinished job have ended, given the names of their groups."""
    return sum(finished_path(out, name).exists() for name in names)


def checkpoint_iteration(out: Path) -> int | None:
    """Return the iteration of the checkpoint of the run that writes `out`, or None."""
    try:
        with open_zip(checkpoint_path(out)) as group:
            return int(group.attrs["iteration"])
    except (UserError, KeyError, TypeError, ValueError):
        return None


def checkpoint_objectives(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the recorded iterations of a checkpoint and their objectives."""
    with open_zip(path) as group:
        recorded = group.group("recorded")
        return recorded.read("iteration"), recorded.read("rows")[:, METRICS.index("objective")]
