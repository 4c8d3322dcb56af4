"""The tables of a study, each from its aggregate: CSV, Markdown and LaTeX with the same numbers.

Other packages add tables through the entry-point group `gvibench.tables`: the name of the entry
point is that of the table, its value a module with a function `build` like that of ours.
"""

from pathlib import Path
from typing import Any

from gvibench.failures import RETRIED, print_failure
from gvibench.registry import Registry
from gvibench.store.files import atomic_path

__all__ = ["MODULES", "module_of", "names", "write_tables"]

MODULES = {
    "datasets": "gvibench.tables.datasets",
    "performance": "gvibench.tables.performance",
    "paper": "gvibench.tables.paper",
    "runs": "gvibench.tables.runs",
    "winners": "gvibench.tables.winners",
    "runtime": "gvibench.tables.runtime",
    "theory": "gvibench.tables.theory",
}

REGISTRY = Registry("table", MODULES)
names = REGISTRY.names
module_of = REGISTRY.module_of


def write_tables(job: dict[str, Any], aggregate: Path, out: Path) -> None:
    """Write one table of a study.

    A table that cannot be made must not take the report with it: its files then hold the error,
    and so do the summary and the page.

    Parameters
    ----------
    job
        `table` (its name), `study` and `code_hash`.
    aggregate
        The aggregate of the study.
    out
        Path of the CSV file; the other formats appear beside it.
    """
    from gvibench.analysis.configurations import open_aggregate
    from gvibench.tables.formats import error_table, to_csv, to_latex, to_markdown

    with open_aggregate(aggregate) as dataset:
        try:
            table = REGISTRY.load(job["table"]).build(dataset)
        except RETRIED:
            raise
        except Exception as error:
            print_failure(error)
            table = error_table(job["table"], error)
    for extension, write in (("csv", to_csv), ("md", to_markdown), ("tex", to_latex)):
        with atomic_path(out.with_suffix(f".{extension}")) as part:
            part.write_text(write(table))
