"""Draw performance profiles (Dolan and Moré) of entries at the headline targets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import unique
from gvibench.analysis.costs import COSTS
from gvibench.analysis.resampling import instance_weights
from gvibench.analysis.scores import HEADLINES, MAX_RATIO, by_score, nearest_target, profiles
from gvibench.figures.drawing import Drawing
from gvibench.figures.entries import Looks, Scored, draw_study, entry_styles, sizes_note
from gvibench.figures.lines import legend_entry, scale_cost
from gvibench.figures.panels import Panels
from gvibench.spec.scoring import ScoreSettings

__all__ = ["draw_profiles", "plot"]


def plot(dataset: xr.Dataset, style: Mapping[str, Any]) -> Drawing:
    """Draw the share of instances solved within a factor of the lowest cost of any solver."""
    return draw_study(draw_profiles, dataset, style)


def draw_profiles(
    outcomes: xr.Dataset,
    settings: ScoreSettings,
    style: Mapping[str, Any],
    looks: Looks | None = None,
) -> Scored:
    """Draw one panel per headline target and one line per entry, up to a factor of 100.

    Entries are listed from the highest to the lowest score.
    """
    outcomes = by_score(outcomes, settings.budget, settings.least)
    names = outcomes["entry"].values.tolist()
    looks = looks or entry_styles(names)
    targets = unique(nearest_target(outcomes, target) for target in HEADLINES)
    table = pd.concat([_table(outcomes, target, settings) for target in targets])
    panels = Panels(unique(table["panel"]), style)
    for panel, part in table.groupby("panel", sort=False):
        axes = panels.axes(str(panel))
        for name in names:
            line = part[part["line"] == name]
            look = looks[name]
            axes.step(
                line["ratio"],
                line["share"],
                where="post",
                color=look.color,
                linestyle=look.dash,
                label=name,
            )
        axes.set_xlim(1.0, MAX_RATIO)
        scale_cost(axes)
        axes.set_ylim(-0.03, 1.03)
    panels.note_hidden_lines()
    noun = COSTS[outcomes.attrs["cost"]].noun
    panels.label("cost / lowest cost of any solver", "share of instances solved")
    notes = [
        f"{sizes_note(outcomes)}; an instance is solved when its gap is at most the target for "
        f"the first time, within {settings.budget:g} {noun}",
        "profiles depend on the solvers that are compared, scores do not",
    ]
    panels.legend([legend_entry(name, looks[name]) for name in names], notes)
    return Scored(panels.figure, table)


def _table(outcomes: xr.Dataset, target: float, settings: ScoreSettings) -> pd.DataFrame:
    """Return the corners of the profile of each entry at a target."""
    within = outcomes.assign(cost=outcomes["cost"].where(outcomes["cost"] <= settings.budget))
    ratios = profiles(within, target, settings.least)
    weights = instance_weights(outcomes).values
    parts = []
    for name in outcomes["entry"].values.tolist():
        ratio = ratios.sel(entry=name).values
        corners = np.unique([1.0, MAX_RATIO, *ratio[np.isfinite(ratio)]])
        share = [float(weights[ratio <= corner].sum()) for corner in corners]
        columns = {"panel": f"gap of {target:g} nat", "line": name}
        parts.append(pd.DataFrame({**columns, "ratio": corners, "share": share}))
    return pd.concat(parts, ignore_index=True)
