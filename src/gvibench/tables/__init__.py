"""Write the tables of a study from its aggregate, as CSV, Markdown and LaTeX.

Other packages add tables through the entry-point group `gvibench.tables`. An entry point has the
name of the table and points to a function `module:function`. The function takes the aggregate and
returns a `gvibench.tables.formats.Table`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gvibench.errors import RETRIED, print_failure
from gvibench.registry import TABLES
from gvibench.store.files import atomic_path

__all__ = ["write_tables"]


def write_tables(
    job: dict[str, Any],
    aggregate: Path,
    out: Path,
    order: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write one table of a study.

    If the table cannot be built, its files contain the error instead, and the summary and the
    report repeat it. The other outputs of the study are not affected.

    Parameters
    ----------
    job
        Name of the `table`, `study` and `code_hash`.
    aggregate
        Aggregate of the study.
    out
        Path of the CSV file. The other formats are written to the same folder.
    order
        Order of data sets and solvers, see `open_aggregate`.
    """
    from gvibench.store.aggregates import check_aggregate, open_aggregate
    from gvibench.tables.formats import error_table, to_csv, to_latex, to_markdown

    with open_aggregate(aggregate, order=order) as dataset:
        try:
            table = TABLES.load(job["table"])(dataset)
        except RETRIED:
            raise
        except Exception as error:
            check_aggregate(aggregate)  # a damaged file is not an error of the table
            print_failure(error)
            table = error_table(job["table"], error)
    for extension, write in (("csv", to_csv), ("md", to_markdown), ("tex", to_latex)):
        with atomic_path(out.with_suffix(f".{extension}")) as part:
            part.write_text(write(table))
