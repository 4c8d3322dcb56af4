"""A workbench for benchmark studies of Gaussian variational inference.

In notebooks, use `fit` to approximate a posterior, `compare` to compare solvers on your own data,
`run` to execute a run, `load_study` to open a finished study and `plot_gap` to plot gaps.
"""

import importlib
from typing import Any

__version__ = "0.2.0"

__all__ = ["__version__", "compare", "fit", "load_study", "plot_gap", "run"]

ON_DEMAND = {
    "compare": "gvibench.api.compare",
    "fit": "gvibench.api.fit",
    "load_study": "gvibench.api.studies",
    "plot_gap": "gvibench.api.studies",
    "run": "gvibench.api.runs",
}
"""Modules of the functions for notebooks."""


# These functions are imported on demand because all jobs of a study import this package, but none
# uses them. `__init__.pyi` declares their types.
def __getattr__(name: str) -> Any:
    if name in ON_DEMAND:
        return getattr(importlib.import_module(ON_DEMAND[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *ON_DEMAND} - {"Any", "ON_DEMAND", "importlib"})
