"""Define the style of figures: sizes, fonts, and one colour and line style per solver."""

import hashlib
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import seaborn
from matplotlib.figure import Figure

__all__ = [
    "PALETTE",
    "WIDTHS",
    "LineStyle",
    "line_styles",
    "message_figure",
    "settings",
    "with_dash",
]

INCH_PER_MM = 1 / 25.4
WIDTHS = {"column": 85 * INCH_PER_MM, "page": 175 * INCH_PER_MM}
"""Widths of figures in inches."""

Dash = Literal["-"] | tuple[float, tuple[float, ...]]

SOLID: Dash = "-"
DASHED: Dash = (0, (4, 1.5))
DOTTED: Dash = (0, (1, 1.2))
DASH_DOTTED: Dash = (0, (5, 1.2, 1, 1.2))
DASHES = (SOLID, DASHED, DOTTED, DASH_DOTTED)


@dataclass(frozen=True)
class LineStyle:
    """Colour, dash and marker of a solver."""

    color: str
    dash: Dash
    marker: str


# Colours of Okabe and Ito, without yellow, which is hard to see on white. The lines of VN and SR-VN
# often coincide. SR-VN is dashed so that the solid line of VN stays visible below it.
PALETTE: dict[str, LineStyle] = {
    "vn": LineStyle("#0072B2", SOLID, "o"),
    "sr-vn": LineStyle("#D55E00", DASHED, "s"),
    "sr-vn-rotated": LineStyle("#E69F00", DOTTED, "D"),
    "bw-gd": LineStyle("#009E73", SOLID, "^"),
    "gd": LineStyle("#CC79A7", SOLID, "v"),
    "gd-chol": LineStyle("#56B4E9", DASHED, "<"),
    "svgd-density": LineStyle("#000000", DASH_DOTTED, "P"),
    "ng-flow": LineStyle("#7F7F7F", DOTTED, "X"),
    "fb-gvi": LineStyle("#882255", DASH_DOTTED, ">"),
}
"""Style by solver id, the same in all figures and studies."""

# Labels that are not solver ids get the muted colours of Tol. The next line style is used once all
# colours are taken.
MORE_COLORS = ("#332288", "#117733", "#AA4499", "#999933", "#44AA99", "#661100")
MORE_STYLES = ((SOLID, "h"), (DASHED, "p"), (DOTTED, "*"), (DASH_DOTTED, "d"))


def line_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return the style of each label, by `PALETTE` or else by a hash of the label."""
    labels = set(labels)
    styles = {label: PALETTE[label] for label in labels if label in PALETTE}
    others = sorted(labels - set(PALETTE))
    for start in range(0, len(others), len(MORE_COLORS)):
        dash, marker = MORE_STYLES[start // len(MORE_COLORS) % len(MORE_STYLES)]
        taken: set[int] = set()
        for label in others[start : start + len(MORE_COLORS)]:
            index = int(hashlib.sha256(label.encode()).hexdigest(), 16) % len(MORE_COLORS)
            while index in taken:
                index = (index + 1) % len(MORE_COLORS)
            taken.add(index)
            styles[label] = LineStyle(MORE_COLORS[index], dash, marker)
    return styles


def with_dash(style: LineStyle, number: int) -> LineStyle:
    """Return the style of line `number` of a solver, with the same colour and another dash."""
    dashes = [style.dash, *(dash for dash in DASHES if dash != style.dash)]
    return replace(style, dash=dashes[number % len(dashes)])


def message_figure(text: str, style: Mapping[str, Any]) -> Figure:
    """Return a figure that contains only a message."""
    width = WIDTHS[style["width"]]
    letters = max(20, int(100 * width / style["font_size"]))
    figure = Figure(figsize=(width, 0.4 * width))
    wrapped = textwrap.fill(text, letters)
    figure.text(0.5, 0.5, wrapped, ha="center", va="center", parse_math=False)
    return figure


def settings(style: Mapping[str, Any]) -> Any:  # Matplotlib's type has literal keys.
    """Return the Matplotlib settings for a style of the config."""
    size = float(style["font_size"])
    small = 0.875 * size
    return {
        **seaborn.axes_style("whitegrid"),
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
        "xtick.bottom": True,
        "ytick.left": True,
        "axes.titlepad": 3.0,
        "axes.labelpad": 2.0,
        "xtick.major.pad": 2.0,
        "ytick.major.pad": 2.0,
        "savefig.dpi": 250,
        # Keep text as text, so that it can be searched and edited.
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "gvibench",
    }
