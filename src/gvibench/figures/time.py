"""Objective gap against solver time."""

from collections.abc import Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis import Configuration, bands_over_seconds
from gvibench.figures.objective import plot_gaps
from gvibench.figures.panels import scale_seconds

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set; a line ends where its first seed stopped."""
    return plot_gaps(dataset, style, bands_over_seconds(dataset), scale_seconds, "solver time [s]")
