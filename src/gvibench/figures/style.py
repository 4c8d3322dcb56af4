"""Define the widths of figures, and one colour, dash and marker per solver.

The report page uses the same colours, so this module imports neither Matplotlib nor seaborn.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gvibench.analysis.configurations import Configuration

__all__ = [
    "FLOOR",
    "PALETTE",
    "WIDTHS",
    "LineStyle",
    "dash_lengths",
    "line_styles",
    "line_styles_of",
    "with_dash",
]

INCH_PER_MM = 1 / 25.4
WIDTHS = {"column": 85 * INCH_PER_MM, "page": 175 * INCH_PER_MM}
"""Widths of figures in inches."""
FLOOR = 1e-12
"""Value at which smaller gaps are drawn, because a logarithmic axis cannot show zero."""

Dash = Literal["-"] | tuple[float, tuple[float, ...]]

SOLID: Dash = "-"
DASHED: Dash = (0, (4, 1.5))
DOTTED: Dash = (0, (1, 1.2))
DASH_DOTTED: Dash = (0, (5, 1.2, 1, 1.2))
LONG_DASHED: Dash = (0, (8, 2))
DOUBLE_DOTTED: Dash = (0, (5, 1.2, 1, 1.2, 1, 1.2))
DASHES = (SOLID, DASHED, DOTTED, DASH_DOTTED)


@dataclass(frozen=True)
class LineStyle:
    """Colour, dash and marker of a solver."""

    color: str
    dash: Dash
    marker: str


# Colours of Okabe and Ito, without yellow, which is hard to see on white. Solvers whose colours are
# about equally light differ in their dashes, so that a grey copy can be read. The lines of VN and
# SR-VN often coincide. SR-VN is dashed so that the solid line of VN stays visible below it.
PALETTE: dict[str, LineStyle] = {
    "vn": LineStyle("#0072B2", SOLID, "o"),
    "sr-vn": LineStyle("#D55E00", DASHED, "s"),
    "sr-vn-rotated": LineStyle("#E69F00", DOTTED, "D"),
    "bw-gd": LineStyle("#009E73", SOLID, "^"),
    "gd": LineStyle("#CC79A7", DASH_DOTTED, "v"),
    "gd-chol": LineStyle("#56B4E9", DASHED, "<"),
    "svgd-density": LineStyle("#000000", DASH_DOTTED, "P"),
    "ng-flow": LineStyle("#7F7F7F", DOTTED, "X"),
    "fb-gvi": LineStyle("#882255", DOTTED, ">"),
    "vn-pd": LineStyle("#6CB3BD", LONG_DASHED, "p"),
    "fr-kl": LineStyle("#BD0DA9", LONG_DASHED, "*"),
    "fr-r": LineStyle("#467D78", DOUBLE_DOTTED, "h"),
    "laplace": LineStyle("#4E6B83", DASH_DOTTED, "d"),
    "advi": LineStyle("#FE0EF2", DOUBLE_DOTTED, "H"),
    "bam": LineStyle("#5F84DD", LONG_DASHED, "8"),
    "gsm": LineStyle("#2BC46E", DOUBLE_DOTTED, "|"),
}
"""Style by solver id, the same in all figures and studies."""

# Labels that are not solver ids get the muted colours of Tol, each with a dash and a marker. Once
# all colours are taken, they are used again with the next dash and marker.
MORE_COLORS = ("#332288", "#117733", "#AA4499", "#999933", "#44AA99", "#661100")
MORE_STYLES = ((SOLID, "h"), (DASHED, "p"), (DOTTED, "*"), (DASH_DOTTED, "d"))


def line_styles(labels: Iterable[str]) -> dict[str, LineStyle]:
    """Return the style of each label, by `PALETTE` or else by a hash of the label."""
    labels = set(labels)
    styles = {label: PALETTE[label] for label in labels if label in PALETTE}
    others = sorted(labels - set(PALETTE))
    for start in range(0, len(others), len(MORE_COLORS)):
        turn = start // len(MORE_COLORS)
        taken: set[int] = set()
        for label in others[start : start + len(MORE_COLORS)]:
            index = int(hashlib.sha256(label.encode()).hexdigest(), 16) % len(MORE_COLORS)
            while index in taken:
                index = (index + 1) % len(MORE_COLORS)
            taken.add(index)
            dash, marker = MORE_STYLES[(index + turn) % len(MORE_STYLES)]
            styles[label] = LineStyle(MORE_COLORS[index], dash, marker)
    return styles


def with_dash(style: LineStyle, number: int) -> LineStyle:
    """Return the style of line `number` of a solver, with the same colour and another dash."""
    dashes = [style.dash, *(dash for dash in DASHES if dash != style.dash)]
    return replace(style, dash=dashes[number % len(dashes)])


def line_styles_of(configs: "Iterable[Configuration]") -> dict[str, LineStyle]:
    """Return the style of each line, in the order of the study.

    If a study has a solver under its own name and, with other settings, under a second name, both
    have the same colour.
    """
    configs = list(configs)
    own_names = {config.solver for config in configs} & set(PALETTE)
    lines: dict[str, list[str]] = {}
    for config in configs:
        is_variant = config.solver not in PALETTE and config.solver_id in own_names
        solver_lines = lines.setdefault(config.solver_id if is_variant else config.solver, [])
        if config.line not in solver_lines:
            solver_lines.append(config.line)
    styles = line_styles(lines)
    if any(len(solver_lines) > 1 for solver_lines in lines.values()):
        # The first line of each solver is solid, so that dashes have one meaning.
        styles = {solver: replace(style, dash=SOLID) for solver, style in styles.items()}
    # All lines of a solver have its colour and differ in their dashes.
    return {
        line: with_dash(styles[solver], k)
        for solver, solver_lines in lines.items()
        for k, line in enumerate(solver_lines)
    }


def dash_lengths(style: LineStyle) -> list[float]:
    """Return the lengths of dashes and gaps in line widths, empty for a solid line."""
    return [] if isinstance(style.dash, str) else list(style.dash[1])
