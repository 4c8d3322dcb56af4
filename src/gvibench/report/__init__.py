"""The summary of a study."""

from pathlib import Path
from typing import Any

__all__ = ["write_summary"]


def write_summary(job: dict[str, Any], aggregate: Path, out: Path) -> None:
    """Write the summary."""
    raise NotImplementedError
