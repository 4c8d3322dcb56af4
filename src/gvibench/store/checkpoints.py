"""Locate the checkpoint of a run and read its progress."""

from pathlib import Path

import numpy as np

from gvibench.errors import UserError
from gvibench.spec.metrics import METRICS
from gvibench.store.zarrzip import open_zip

__all__ = ["KIND", "checkpoint_iteration", "checkpoint_objectives", "checkpoint_path"]

KIND = "gvibench checkpoint"


def checkpoint_path(out: Path) -> Path:
    """Return the path of the checkpoint of the run that writes `out`."""
    return out.with_name(f".{out.name}.checkpoint")


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
