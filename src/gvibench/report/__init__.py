"""The summary of a study: the page to read first."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gvibench.store.files import atomic_path

__all__ = ["errors_beside", "write_summary"]


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
    from gvibench.analysis.configurations import open_aggregate
    from gvibench.report.summary import summary

    with open_aggregate(aggregate) as dataset:
        text = summary(job, dataset, errors_beside(out, job["figures"], job["tables"]))
    with atomic_path(out) as part:
        part.write_text(text)


def errors_beside(summary: Path, figures: Iterable[str], tables: Iterable[str]) -> dict[str, str]:
    """Return the sentence of each figure and table of a study that could not be made."""
    from gvibench.tables.formats import ERROR

    errors = {}
    for name in figures:
        path = summary.parent / "figures" / f"{name}.json"
        if path.exists() and "error" in (metadata := json.loads(path.read_text())):
            errors[f"figure {name}"] = str(metadata["error"])
    for name in tables:
        path = summary.parent / "tables" / f"{name}.csv"
        rows = list(csv.reader(path.read_text().splitlines())) if path.exists() else []
        if rows and rows[0] == [ERROR]:
            errors[f"table {name}"] = rows[1][0]
    return errors
