"""Objective gap against solver time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gvibench.analysis import Band, Configuration, band_over_seconds
from gvibench.figures.objective import plot_gaps

__all__ = ["plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> tuple[Figure, list[Configuration]]:
    """Draw one panel per data set; a line ends where its first seed stopped."""
    seconds = np.asarray(dataset["seconds"].values)

    def band_of(gaps: xr.DataArray, one: Configuration) -> Band:
        return band_over_seconds(gaps, seconds, one)

    return plot_gaps(dataset, style, band_of, _scale_seconds, "solver time [s]")


def _scale_seconds(axes: Axes) -> None:
    axes.set_xscale("log")
