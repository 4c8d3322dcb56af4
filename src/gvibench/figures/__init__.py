"""Draw the figures of a study from its aggregate, as PDF, SVG and PNG with their numbers in CSV.

Other packages add figures through the entry-point group `gvibench.figures`. An entry point has the
name of the figure and points to a function `module:function`. The function takes the aggregate and
the style of the config. It returns a `Drawing`: a Matplotlib figure, the configurations that it
shows and the table from which it was drawn.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gvibench.errors import RETRIED, one_sentence, print_failure
from gvibench.registry import FIGURES
from gvibench.store.files import atomic_path

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["draw"]

MAX_PIXELS = 8e6
"""Number of pixels of a PNG above which its resolution is reduced, to limit file and memory."""
# Without dates, equal figures have equal bytes.
UNDATED: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}


def draw(
    job: dict[str, Any],
    aggregate: Path,
    out: Path,
    order: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Draw one figure of a study.

    If the figure cannot be drawn, its files show the error instead, and the summary and the report
    repeat it. The other outputs of the study are not affected.

    Parameters
    ----------
    job
        Name of the `figure`, `study`, `style` and `code_hash`.
    aggregate
        Aggregate of the study.
    out
        Path of the PDF. The other formats are written to the same folder.
    order
        Order of data sets and solvers, see `open_aggregate`.
    """
    import matplotlib

    matplotlib.use("agg")

    import pandas as pd

    from gvibench.figures.drawing import Drawing
    from gvibench.figures.provenance import describe
    from gvibench.figures.theme import message_figure, theme
    from gvibench.store.aggregates import check_aggregate, open_aggregate

    with open_aggregate(aggregate, order=order) as dataset, theme(job["style"]):
        try:
            drawing = Drawing(*FIGURES.load(job["figure"])(dataset, job["style"]))
            metadata = describe(job, dataset, drawing.shown)
            _save(drawing.figure, drawing.table, metadata, out)
        except RETRIED:
            raise
        except Exception as error:
            check_aggregate(aggregate)  # a damaged file is not an error of the figure
            print_failure(error)
            sentence = f"the figure '{job['figure']}' could not be drawn: {one_sentence(error)}"
            figure, table = (
                message_figure(sentence, job["style"]),
                pd.DataFrame({"error": [sentence]}),
            )
            _save(figure, table, {**job, "error": sentence}, out)


def _save(figure: "Figure", table: "pd.DataFrame", metadata: dict[str, Any], out: Path) -> None:
    from gvibench.figures.pages import fixed_layout, lay_out, save_pages

    lay_out(figure)  # once for all formats
    with atomic_path(out.with_suffix(".svg")) as part, fixed_layout(figure):
        figure.savefig(part, format="svg", metadata=UNDATED["svg"])
    with atomic_path(out.with_suffix(".png")) as part, fixed_layout(figure):
        figure.savefig(part, format="png", dpi=_resolution(figure))
    with atomic_path(out.with_suffix(".pdf")) as part:
        save_pages(figure, part, UNDATED["pdf"])
    with atomic_path(out.with_suffix(".csv")) as part:
        # Without a format, pandas writes the shortest text that reads back as the same number.
        table.to_csv(part, index=False, lineterminator="\n")
    with atomic_path(out.with_suffix(".json")) as part, part.open("w", encoding="utf-8") as file:
        # `json.dump` writes piece by piece, which takes little memory for many runs.
        json.dump(metadata, file, indent=1)
        file.write("\n")


def _resolution(figure: "Figure") -> float:
    """Return the resolution of a PNG in dots per inch, which is lower for very tall figures."""
    from matplotlib import rcParams

    width, height = figure.get_size_inches()
    return float(min(rcParams["savefig.dpi"], math.sqrt(MAX_PIXELS / (width * height))))
