"""The tables of a study, each from its aggregate: CSV, Markdown and LaTeX with the same numbers."""

import importlib
from pathlib import Path
from typing import Any

from gvibench.errors import UserError
from gvibench.files import atomic_path
from gvibench.spec import suggest

__all__ = ["MODULES", "write_tables"]

# As text, so that a table depends only on the code of its own module.
MODULES = {
    "datasets": "gvibench.tables.datasets",
    "performance": "gvibench.tables.performance",
    "paper": "gvibench.tables.paper",
    "runs": "gvibench.tables.runs",
    "winners": "gvibench.tables.winners",
    "runtime": "gvibench.tables.runtime",
    "theory": "gvibench.tables.theory",
}


def write_tables(job: dict[str, Any], aggregate: Path, out: Path) -> None:
    """Write one table of a study.

    Parameters
    ----------
    job
        `table` (a name in `MODULES`), `study` and `code_hash`.
    aggregate
        The aggregate of the study.
    out
        Path of the CSV file; the other formats appear beside it.
    """
    from gvibench.analysis import open_aggregate
    from gvibench.tables.formats import to_csv, to_latex, to_markdown

    if job["table"] not in MODULES:
        raise UserError(f"there is no table '{job['table']}'{suggest(job['table'], MODULES)}")
    module = importlib.import_module(MODULES[job["table"]])
    with open_aggregate(aggregate) as dataset:
        table = module.build(dataset)
    for extension, write in (("csv", to_csv), ("md", to_markdown), ("tex", to_latex)):
        with atomic_path(out.with_suffix(f".{extension}")) as part:
            part.write_text(write(table))
