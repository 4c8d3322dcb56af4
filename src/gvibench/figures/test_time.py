"""Test NLL gap and test accuracy against solver time."""

from collections.abc import Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis import Configuration, bands_over_seconds
from gvibench.figures.panels import scale_seconds
from gvibench.figures.tests import plot_tests

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw two panels per data set; a line ends where its first seed stopped."""
    return plot_tests(dataset, style, bands_over_seconds(dataset), scale_seconds, "solver time [s]")
