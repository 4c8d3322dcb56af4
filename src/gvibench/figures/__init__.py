"""The figures of a study, each drawn from its aggregate: PDF, SVG, PNG and what is behind them.

Other packages add figures through the entry-point group `gvibench.figures`: the name of the entry
point is that of the figure, its value a module with a function `plot` like that of ours.
"""

import json
from pathlib import Path
from typing import Any

from gvibench.files import atomic_path
from gvibench.registry import Registry

__all__ = ["MODULES", "draw", "module_of", "names"]

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

    from gvibench.analysis import open_aggregate
    from gvibench.figures.behind import describe
    from gvibench.figures.style import settings

    module = REGISTRY.load(job["figure"])
    with open_aggregate(aggregate) as dataset, matplotlib.rc_context(settings(job["style"])):
        figure, shown = module.plot(dataset, job["style"])
        for extension, metadata in UNDATED.items():
            with atomic_path(out.with_suffix(f".{extension}")) as part:
                figure.savefig(part, format=extension, metadata=metadata)
        with atomic_path(out.with_suffix(".json")) as part:
            part.write_text(json.dumps(describe(job, dataset, shown), indent=1) + "\n")
