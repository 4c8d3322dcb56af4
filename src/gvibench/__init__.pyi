from gvibench.api import load_study as load_study
from gvibench.api import plot_gap as plot_gap
from gvibench.api import run as run

__version__: str
