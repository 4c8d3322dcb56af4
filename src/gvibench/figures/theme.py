"""Set the theme of all figures, and draw figures that contain only a message."""

import contextlib
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import matplotlib
import seaborn
from matplotlib.figure import Figure

from gvibench.figures.style import WIDTHS

__all__ = ["message_figure", "theme"]


@contextlib.contextmanager
def theme(style: Mapping[str, Any]) -> Iterator[None]:
    """Apply the theme of figures, with the font size of a style of the config, in a context."""
    with matplotlib.rc_context():
        # Colour codes such as "b" are no settings, so the context would not restore them.
        options = {"context": "paper", "style": "whitegrid", "color_codes": False}
        seaborn.set_theme(**options, rc=_settings(style))
        yield


def message_figure(text: str, style: Mapping[str, Any]) -> Figure:
    """Return a figure that contains only a message."""
    width = WIDTHS[style["width"]]
    letters = max(20, int(100 * width / style["font_size"]))
    figure = Figure(figsize=(width, 0.4 * width))
    wrapped = textwrap.fill(text, letters)
    figure.text(0.5, 0.5, wrapped, ha="center", va="center", parse_math=False)
    return figure


def _settings(style: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Matplotlib settings that differ from seaborn's."""
    size = float(style["font_size"])
    small = 0.875 * size
    return {
        "font.size": size,
        "axes.titlesize": size,
        "axes.labelsize": size,
        "figure.labelsize": size,
        "xtick.labelsize": small,
        "ytick.labelsize": small,
        "legend.fontsize": small,
        "axes.linewidth": 0.6,
        "grid.linewidth": 0.4,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2.5,
        "ytick.major.size": 2.5,
        "xtick.minor.width": 0.4,
        "ytick.minor.width": 0.4,
        "xtick.minor.size": 1.5,
        "ytick.minor.size": 1.5,
        "xtick.bottom": True,
        "ytick.left": True,
        "axes.titlepad": 3.0,
        "axes.labelpad": 2.0,
        "xtick.major.pad": 2.0,
        "ytick.major.pad": 2.0,
        "axes.formatter.useoffset": False,
        # Figures without a layout engine do not get one from the user's settings.
        "figure.autolayout": False,
        "figure.constrained_layout.use": False,
        "savefig.dpi": 250,
        # Keep text as text, so that it can be searched and edited.
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "gvibench",
    }
