"""The tables of a study, each from its aggregate: CSV, Markdown and LaTeX with the same numbers."""

from pathlib import Path
from typing import Any

__all__ = ["MODULES", "write_tables"]

MODULES: dict[str, str] = {
    "datasets": "gvibench.tables.datasets",
    "performance": "gvibench.tables.performance",
}


def write_tables(job: dict[str, Any], aggregate: Path, out: Path) -> None:
    """Write one table."""
    raise NotImplementedError
