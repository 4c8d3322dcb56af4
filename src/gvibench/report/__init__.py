"""The summary of a study: the page to read first."""

from pathlib import Path
from typing import Any

from gvibench.files import atomic_path

__all__ = ["write_summary"]


def write_summary(job: dict[str, Any], aggregate: Path, out: Path) -> None:
    """Write the summary of a study.

    Parameters
    ----------
    job
        `study`, `tables` and `figures` (the names of those that were made) and `code_hash`.
    aggregate
        The aggregate of the study.
    out
        Path of the Markdown file; figures and tables are linked relative to its folder.
    """
    from gvibench.analysis import open_aggregate
    from gvibench.report.summary import summary

    with open_aggregate(aggregate) as dataset:
        text = summary(job, dataset)
    with atomic_path(out) as part:
        part.write_text(text)
