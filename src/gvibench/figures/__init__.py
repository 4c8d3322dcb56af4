"""The figures of a study, each drawn from its aggregate: PDF, SVG, PNG and what is behind them."""

import importlib
import json
from pathlib import Path
from typing import Any

from gvibench.errors import UserError
from gvibench.files import atomic_path
from gvibench.spec import suggest

__all__ = ["MODULES", "draw"]

# As text, so that a figure depends only on the code of its own module.
MODULES = {
    "gap": "gvibench.figures.gap",
    "test": "gvibench.figures.test",
    "time": "gvibench.figures.time",
    "test-time": "gvibench.figures.test_time",
    "sensitivity": "gvibench.figures.sensitivity",
    "profile": "gvibench.figures.profile",
    "path": "gvibench.figures.path",
    "runtime": "gvibench.figures.runtime",
    "bias": "gvibench.figures.bias",
    "temperature": "gvibench.figures.temperature",
    "theory": "gvibench.figures.theory",
}

# Dates would make equal figures differ in their bytes.
UNDATED: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "png": {},
}


def draw(job: dict[str, Any], aggregate: Path, out: Path) -> None:
    """Draw one figure of a study.

    Parameters
    ----------
    job
        `figure` (a name in `MODULES`), `study`, `style` and `code_hash`.
    aggregate
        The aggregate of the study.
    out
        Path of the PDF; the other formats appear beside it.
    """
    import matplotlib

    matplotlib.use("agg")

    from gvibench.analysis import open_aggregate
    from gvibench.figures.behind import describe
    from gvibench.figures.style import settings

    if job["figure"] not in MODULES:
        near = suggest(job["figure"], MODULES)
        raise UserError(f"there is no figure '{job['figure']}'{near}")
    module = importlib.import_module(MODULES[job["figure"]])
    with open_aggregate(aggregate) as dataset, matplotlib.rc_context(settings(job["style"])):
        figure, shown = module.plot(dataset, job["style"])
        for extension, metadata in UNDATED.items():
            with atomic_path(out.with_suffix(f".{extension}")) as part:
                figure.savefig(part, format=extension, metadata=metadata)
        with atomic_path(out.with_suffix(".json")) as part:
            part.write_text(json.dumps(describe(job, dataset, shown), indent=1) + "\n")
