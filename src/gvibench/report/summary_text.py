"""Read the conclusion of a study from its summary."""

from pathlib import Path

__all__ = ["read_conclusion"]


def read_conclusion(summary: Path) -> str:
    """Return the first paragraph below the title of a summary, in one line."""
    _title, conclusion, *_ = summary.read_text().split("\n\n")
    return " ".join(conclusion.split())
