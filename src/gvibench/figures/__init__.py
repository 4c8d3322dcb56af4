"""The figures of a study, each from its aggregate."""

from pathlib import Path
from typing import Any

__all__ = ["MODULES", "draw"]

MODULES: dict[str, str] = {
    "gap": "gvibench.figures.gap",
    "test": "gvibench.figures.test",
    "time": "gvibench.figures.time",
    "sensitivity": "gvibench.figures.sensitivity",
    "profile": "gvibench.figures.profile",
}


def draw(job: dict[str, Any], aggregate: Path, out: Path) -> None:
    """Draw one figure."""
    raise NotImplementedError
