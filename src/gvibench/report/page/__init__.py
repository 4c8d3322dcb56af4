"""The report page of a study: one HTML file that needs nothing else, and no network."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["page_code_hash", "write_comparison", "write_page"]

ASSETS = Path(__file__).with_name("assets")

COMPARED = ("datasets", "performance")
"""The tables of a comparison: those that every study can have."""


def page_code_hash(tables: Iterable[str]) -> str:
    """Return the hash of all that shapes a page with these tables, script and style included."""
    from gvibench.spec.code import code_hash, files_hash
    from gvibench.spec.run import hash_text
    from gvibench.tables import module_of

    modules = [__name__, *(module_of(name) for name in tables)]
    return hash_text(code_hash(modules) + files_hash(ASSETS.iterdir()))


def write_page(job: dict[str, Any], aggregate: Path, figures: Sequence[Path], out: Path) -> None:
    """Write the page of one study.

    Parameters
    ----------
    job
        `study`, `tables` (the names of those to show) and `code_hash`.
    aggregate
        The aggregate of the study.
    figures
        Its static figures, as SVG, PNG or both.
    out
        Path of the HTML file.
    """
    from gvibench.analysis.configurations import open_aggregate
    from gvibench.report.page.document import write_document
    from gvibench.report.page.payload import Study, payload
    from gvibench.report.page.sections import figures_of

    with open_aggregate(aggregate) as dataset:
        study = Study(
            dataset,
            tables=job["tables"],
            figures=figures_of(figures),
            codes={"code of this page": job["code_hash"]},
        )
        write_document(payload([study]), out)


def write_comparison(first: Path, second: Path, out: Path) -> None:
    """Write one page about two studies, each a folder of results, an aggregate or an archive.

    Lines are named after their study, A or B, and runs that both have are compared one by one.
    """
    from gvibench.analysis.configurations import open_aggregate
    from gvibench.report.page.comparison import compared_runs
    from gvibench.report.page.document import write_document
    from gvibench.report.page.payload import Study, payload
    from gvibench.report.page.sections import figures_of
    from gvibench.store.aggregates import locate_aggregate

    with (
        locate_aggregate(first) as path_of_one,
        locate_aggregate(second) as path_of_other,
        open_aggregate(path_of_one) as one,
        open_aggregate(path_of_other) as other,
    ):
        studies = [
            Study(
                dataset,
                label=label,
                source=str(source),
                tables=COMPARED,
                figures=figures_of(sorted((path.parent / "figures").glob("*"))),
                codes={"code of this page": page_code_hash(COMPARED)},
            )
            for dataset, label, source, path in (
                (one, "A", first, path_of_one),
                (other, "B", second, path_of_other),
            )
        ]
        write_document(payload(studies, [compared_runs(one, other)]), out)
