"""Objective gap against solver time."""

from collections.abc import Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis.configurations import Configuration
from gvibench.figures.curves import over_seconds, plot_gaps

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set and one line per solver; return also what was drawn."""
    return plot_gaps(dataset, style, over_seconds(dataset))
