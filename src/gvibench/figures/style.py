"""How figures look: sizes, type, and one colour and line style per solver in all of them."""

import hashlib
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import seaborn
from matplotlib.figure import Figure

__all__ = ["PALETTE", "WIDTHS", "Look", "looks", "message_figure", "redashed", "settings"]

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
class Look:
    """How a solver is drawn."""

    color: str
    dash: Dash
    marker: str


# Okabe and Ito's colours, without their yellow, which is lost on white. VN and SR-VN often run on
# top of each other, hence solid beneath dashed.
PALETTE: dict[str, Look] = {
    "vn": Look("#0072B2", SOLID, "o"),
    "sr-vn": Look("#D55E00", DASHED, "s"),
    "sr-vn-rotated": Look("#E69F00", DOTTED, "D"),
    "bw-gd": Look("#009E73", SOLID, "^"),
    "gd": Look("#CC79A7", SOLID, "v"),
    "gd-chol": Look("#56B4E9", DASHED, "<"),
    "svgd-density": Look("#000000", DASH_DOTTED, "P"),
    "ng-flow": Look("#7F7F7F", DOTTED, "X"),
    "fb-gvi": Look("#882255", DASH_DOTTED, ">"),
}
"""By solver id. Never changes from one figure or study to the next."""

# For labels that are no solver's id: Tol's muted colours, all of them before a second line style.
MORE_COLORS = ("#332288", "#117733", "#AA4499", "#999933", "#44AA99", "#661100")
MORE_STYLES = ((SOLID, "h"), (DASHED, "p"), (DOTTED, "*"), (DASH_DOTTED, "d"))


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return how each label is drawn: solver ids as ever, others by a hash of their name."""
    wanted = set(labels)
    chosen = {label: PALETTE[label] for label in wanted if label in PALETTE}
    others = sorted(wanted - set(PALETTE))
    for start in range(0, len(others), len(MORE_COLORS)):
        dash, marker = MORE_STYLES[start // len(MORE_COLORS) % len(MORE_STYLES)]
        taken: set[int] = set()
        for label in others[start : start + len(MORE_COLORS)]:
            place = int(hashlib.sha256(label.encode()).hexdigest(), 16) % len(MORE_COLORS)
            while place in taken:
                place = (place + 1) % len(MORE_COLORS)
            taken.add(place)
            chosen[label] = Look(MORE_COLORS[place], dash, marker)
    return chosen


def redashed(look: Look, number: int) -> Look:
    """Return the look of the `number`-th line of one solver: same colour, other dashes."""
    dashes = [look.dash, *(dash for dash in DASHES if dash != look.dash)]
    return replace(look, dash=dashes[number % len(dashes)])


def message_figure(text: str, style: Mapping[str, Any]) -> Figure:
    """Return a figure that shows nothing but a message."""
    width = WIDTHS[style["width"]]
    letters = max(20, int(100 * width / style["font_size"]))
    figure = Figure(figsize=(width, 0.4 * width))
    wrapped = textwrap.fill(text, letters)
    figure.text(0.5, 0.5, wrapped, ha="center", va="center", parse_math=False)
    return figure


def settings(style: Mapping[str, Any]) -> Any:  # Matplotlib wants its keys as literals
    """Return Matplotlib's settings for a style of the config; figures are drawn under them."""
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
        # Text stays text, so that it can be searched and edited.
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "gvibench",
    }
