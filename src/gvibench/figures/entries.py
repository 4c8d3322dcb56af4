"""Prepare the entries of a benchmark for figures of scores.

The drawing functions of these figures take outcomes, so that they draw studies and published
benchmarks alike.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from gvibench.analysis.configurations import Configuration, unique
from gvibench.analysis.outcomes import best_configurations, other_limits, study_outcomes
from gvibench.figures.drawing import Drawing
from gvibench.figures.style import PALETTE, LineStyle, line_styles, line_styles_of, with_dash
from gvibench.spec.messages import counted
from gvibench.spec.scoring import ScoreSettings

__all__ = ["Looks", "Scored", "draw_study", "entry_styles", "limits_note", "sizes_note"]


TITLES = {"svgd": "svgd-density"}
"""Solvers whose title is not their id, by their title in lower case."""


class Scored(NamedTuple):
    """Figure of scores with the numbers that it shows."""

    figure: Figure
    table: pd.DataFrame


Looks = Mapping[str, LineStyle]
Draw = Callable[[xr.Dataset, ScoreSettings, Mapping[str, Any], Looks], Scored]


def draw_study(draw: Draw, dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw a figure of scores for a study, with the colours of its other figures."""
    outcomes, settings = study_outcomes(dataset)
    shown: list[Configuration] = best_configurations(dataset)
    figure, table = draw(outcomes, settings, style, line_styles_of(shown))
    return Drawing(figure, shown, table)


def entry_styles(entries: Iterable[str]) -> dict[str, LineStyle]:
    """Return the style of each entry by its name.

    An entry whose name begins with the title of a solver has its colour, too. Further settings,
    which follow a comma or a hyphen, change the dash.
    """
    entries = list(entries)
    solvers = {entry: _solver(entry) for entry in entries}
    styles = line_styles(solvers.values())
    members = {
        solver: [entry for entry in entries if solvers[entry] == solver]
        for solver in unique(solvers.values())
    }
    return {
        entry: with_dash(styles[solver], members[solver].index(entry))
        for entry, solver in solvers.items()
    }


def _solver(entry: str) -> str:
    """Return the id of the solver with whose title an entry begins, or its name without settings.

    `vn-price` belongs to `vn`, and `vn-pd`, which is a solver, to itself.
    """
    title = entry.partition(",")[0]
    name = TITLES.get(title.lower(), title.lower())
    found = [solver for solver in PALETTE if name == solver or name.startswith(f"{solver}-")]
    return max(found, key=len, default=title)


def limits_note(outcomes: xr.Dataset) -> list[str]:
    """Return a note on the entries whose gaps do not vanish because they have another limit."""
    return [note] if (note := other_limits(outcomes)) else []


def sizes_note(outcomes: xr.Dataset) -> str:
    """Return the numbers of problems and instances in words."""
    problems = len(unique(outcomes["problem"].values.tolist()))
    sizes = counted(problems, "problem"), counted(outcomes.sizes["instance"], "instance")
    return f"{sizes[0]} with {sizes[1]}"
