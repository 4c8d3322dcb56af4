"""A workbench for benchmark studies of Gaussian variational inference.

For notebooks: `run` does one run, `load_study` opens a finished study, `plot_gap` draws either.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

__all__ = ["__version__", "load_study", "plot_gap", "run"]

ON_DEMAND = {"load_study", "plot_gap", "run"}


# On demand, and typed in `__init__.pyi`: every job of a study imports this package, but no job
# needs, or should count as its own, the code behind these.
def __getattr__(name: str) -> Any:
    if name in ON_DEMAND:
        return getattr(importlib.import_module("gvibench.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *ON_DEMAND} - {"Any", "ON_DEMAND", "importlib"})
