from gvibench.api import load_study as load_study
from gvibench.api import plot_gap as plot_gap
from gvibench.api import run as run

__all__ = ["__version__", "load_study", "plot_gap", "run"]

__version__: str
