"""A workbench for benchmark studies of Gaussian variational inference.

In notebooks, use `run` to execute a run, `load_study` to open a finished study and `plot_gap` to
plot either of them.
"""

import importlib
from typing import Any

__version__ = "0.2.0"

__all__ = ["__version__", "load_study", "plot_gap", "run"]

ON_DEMAND = {"load_study", "plot_gap", "run"}


# These functions are imported on demand because all jobs of a study import this package, but none
# uses them. `__init__.pyi` declares their types.
def __getattr__(name: str) -> Any:
    if name in ON_DEMAND:
        return getattr(importlib.import_module("gvibench.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *ON_DEMAND} - {"Any", "ON_DEMAND", "importlib"})
