"""Write the report page of a study: one HTML file that needs no other files and no network."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["write_comparison", "write_page"]

COMPARED = ("datasets", "performance")
"""Tables of a comparison. All studies can have them."""


def write_page(
    job: dict[str, Any],
    aggregate: Path,
    figures: Sequence[Path],
    out: Path,
    order: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write the page of one study.

    Parameters
    ----------
    job
        Mapping with the keys `study`, `tables` (names of the tables to show) and `code_hash`.
    aggregate
        Aggregate of the study.
    figures
        Static figures of the study, as SVG, PNG or both.
    out
        HTML file to write.
    order
        Order of data sets and solvers, see `open_aggregate`.
    """
    from gvibench.report.page.document import write_document
    from gvibench.report.page.payload import Study, payload
    from gvibench.report.page.sections import figures_of
    from gvibench.store.aggregates import open_aggregate

    with open_aggregate(aggregate, order=order) as dataset:
        study = Study(
            dataset,
            tables=job["tables"],
            figures=figures_of(figures),
            codes={"code of this page": job["code_hash"]},
        )
        write_document(payload([study]), out)


def write_comparison(first: Path, second: Path, out: Path, code_hash: str) -> None:
    """Write one page that compares two studies.

    Line names start with A or B. Runs that both studies contain are compared in a table.

    Parameters
    ----------
    first, second
        Results folder, aggregate or exported archive of each study.
    out
        HTML file to write.
    """
    from gvibench.report.page.comparison import compared_runs
    from gvibench.report.page.document import write_document
    from gvibench.report.page.payload import Study, payload
    from gvibench.report.page.sections import figures_of
    from gvibench.store.aggregates import locate_aggregate, open_aggregate

    with (
        locate_aggregate(first) as path_a,
        locate_aggregate(second) as path_b,
        open_aggregate(path_a) as dataset_a,
        open_aggregate(path_b) as dataset_b,
    ):
        studies = [
            Study(
                dataset,
                label=label,
                source=str(source),
                tables=COMPARED,
                figures=figures_of(sorted((Path(path).parent / "figures").glob("*"))),
                codes={"code of this page": code_hash},
            )
            for dataset, label, source, path in (
                (dataset_a, "A", first, path_a),
                (dataset_b, "B", second, path_b),
            )
        ]
        write_document(payload(studies, [compared_runs(dataset_a, dataset_b)]), out)
