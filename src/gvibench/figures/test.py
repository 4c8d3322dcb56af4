"""Test NLL gap and test accuracy against iterations."""

from collections.abc import Mapping
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis import Configuration, band_over_iterations
from gvibench.figures.panels import scale_iterations
from gvibench.figures.tests import plot_tests

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw two panels per data set and one line per solver; return also what was drawn."""
    return plot_tests(dataset, style, band_over_iterations, scale_iterations, "iteration")
