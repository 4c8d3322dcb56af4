from gvibench.api.compare import compare as compare
from gvibench.api.fit import fit as fit
from gvibench.api.runs import run as run
from gvibench.api.studies import load_study as load_study
from gvibench.api.studies import plot_gap as plot_gap

__all__ = ["__version__", "compare", "fit", "load_study", "plot_gap", "run"]

__version__: str
