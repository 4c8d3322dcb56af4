"""Define the result of a figure function."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from gvibench.analysis.configurations import Configuration

__all__ = ["Drawing"]


class Drawing(NamedTuple):
    """Figure with the configurations and the numbers that it shows."""

    figure: "Figure"
    shown: "list[Configuration]"
    """Configurations that were drawn."""
    table: "pd.DataFrame"
    """Tidy table from which the figure was drawn, one row per point."""
