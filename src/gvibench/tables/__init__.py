"""The tables of a study, each from its aggregate: CSV, Markdown and LaTeX with the same numbers.

Other packages add tables through the entry-point group `gvibench.tables`: the name of the entry
point is that of the table, its value a module with a function `build` like that of ours.
"""

from pathlib import Path
from typing import Any

from gvibench.files import atomic_path
from gvibench.registry import Registry

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

    Parameters
    ----------
    job
        `table` (its name), `study` and `code_hash`.
    aggregate
        The aggregate of the study.
    out
        Path of the CSV file; the other formats appear beside it.
    """
    from gvibench.analysis import open_aggregate
    from gvibench.tables.formats import to_csv, to_latex, to_markdown

    module = REGISTRY.load(job["table"])
    with open_aggregate(aggregate) as dataset:
        table = module.build(dataset)
    for extension, write in (("csv", to_csv), ("md", to_markdown), ("tex", to_latex)):
        with atomic_path(out.with_suffix(f".{extension}")) as part:
            part.write_text(write(table))
