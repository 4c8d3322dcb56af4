"""Draw the figures of a study from its aggregate, as PDF, SVG and PNG with metadata in JSON.

Other packages add figures through the entry-point group `gvibench.figures`. An entry point has the
name of the figure and points to a function `module:function`. The function takes the aggregate and
the style of the config. It returns a Matplotlib figure and the configurations that it shows.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gvibench.errors import RETRIED, one_sentence, print_failure
from gvibench.registry import FIGURES
from gvibench.store.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

# Without dates, equal figures have equal bytes.
UNDATED: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {},
}


def draw(job: dict[str, Any], aggregate: Path, out: Path) -> None:
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
    """
    import matplotlib

    matplotlib.use("agg")

    from gvibench.figures.provenance import describe
    from gvibench.figures.style import message_figure, settings
    from gvibench.store.aggregates import open_aggregate

    with open_aggregate(aggregate) as dataset, matplotlib.rc_context(settings(job["style"])):
        try:
            figure, shown = FIGURES.load(job["figure"])(dataset, job["style"])
            metadata = describe(job, dataset, shown)
            _save(figure, metadata, out)
        except RETRIED:
            raise
        except Exception as error:
            print_failure(error)
            sentence = f"the figure '{job['figure']}' could not be drawn: {one_sentence(error)}"
            _save(message_figure(sentence, job["style"]), {**job, "error": sentence}, out)


def _save(figure: "Figure", metadata: dict[str, Any], out: Path) -> None:
    for extension, undated in UNDATED.items():
        with atomic_path(out.with_suffix(f".{extension}")) as part:
            figure.savefig(part, format=extension, metadata=undated)
    with atomic_path(out.with_suffix(".json")) as part:
        part.write_text(json.dumps(metadata, indent=1) + "\n")
