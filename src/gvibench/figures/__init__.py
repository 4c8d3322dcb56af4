"""The figures of a study, each drawn from its aggregate: PDF, SVG, PNG and what is behind them.

Other packages add figures through the entry-point group `gvibench.figures`: the name of the entry
point is that of the figure, its value a module with a function `plot` like that of ours.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gvibench.failures import RETRIED, one_sentence, print_failure
from gvibench.registry import Registry
from gvibench.store.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MODULES", "draw", "module_of", "names"]

MODULES = {
    "gap": "gvibench.figures.gap",
    "test": "gvibench.figures.test",
    "time": "gvibench.figures.time",
    "test-time": "gvibench.figures.test_time",
    "sensitivity": "gvibench.figures.sensitivity",
    "profile": "gvibench.figures.profile",
    "path": "gvibench.figures.trajectory",
    "runtime": "gvibench.figures.runtime",
    "bias": "gvibench.figures.bias",
    "temperature": "gvibench.figures.temperature",
    "theory": "gvibench.figures.theory",
}

REGISTRY = Registry("figure", MODULES)
names = REGISTRY.names
module_of = REGISTRY.module_of

# Dates would make equal figures differ in their bytes.
UNDATED: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {},
}


def draw(job: dict[str, Any], aggregate: Path, out: Path) -> None:
    """Draw one figure of a study.

    A figure that cannot be drawn must not take the report with it: its files then show the error,
    and so do the summary and the page.

    Parameters
    ----------
    job
        `figure` (its name), `study`, `style` and `code_hash`.
    aggregate
        The aggregate of the study.
    out
        Path of the PDF; the other formats appear beside it.
    """
    import matplotlib

    matplotlib.use("agg")

    from gvibench.analysis.configurations import open_aggregate
    from gvibench.figures.provenance import describe
    from gvibench.figures.style import message_figure, settings

    with open_aggregate(aggregate) as dataset, matplotlib.rc_context(settings(job["style"])):
        try:
            figure, shown = REGISTRY.load(job["figure"]).plot(dataset, job["style"])
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
