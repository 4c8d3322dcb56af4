"""Build the table of expected run times (ERT) to several targets."""

import math
from functools import partial

import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import unique
from gvibench.analysis.costs import COSTS
from gvibench.analysis.outcomes import study_outcomes
from gvibench.analysis.scores import ALL, expected_run_time, nearest_target
from gvibench.spec.scoring import ScoreSettings
from gvibench.tables.formats import Block, Table, number, with_full_cells

__all__ = ["TARGETS", "build", "run_times_table"]

TARGETS = (1e2, 1.0, 1e-2, 1e-4, 1e-8)
"""Targets in nats. The table has the nearest ones of the study."""


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each problem and entry of a study."""
    return run_times_table(*study_outcomes(dataset))


def run_times_table(outcomes: xr.Dataset, settings: ScoreSettings) -> Table:
    """Return a table with a row for each problem and entry. All problems together come first."""
    times = expected_run_time(outcomes, settings.budget)
    targets = unique(nearest_target(outcomes, target) for target in TARGETS)
    problems = times["problem"].values.tolist()
    rows = [
        {
            "problem": problem,
            "entry": entry,
            **{
                f"ert_{target:g}": float(times.sel(entry=entry, problem=problem, target=target))
                for target in targets
            },
        }
        for problem in (problems if len(problems) > 2 else problems[1:])
        for entry in outcomes["entry"].values.tolist()
    ]
    values = pd.DataFrame(rows)
    noun = COSTS[outcomes.attrs["cost"]].noun
    blocks = [
        with_full_cells(partial(_block, part, targets, _caption(str(name), noun, settings)))
        for name, part in values.groupby("problem", sort=False)
    ]
    return Table(values, blocks)


def _caption(problem: str, noun: str, settings: ScoreSettings) -> str:
    where = "all problems together" if problem == ALL else problem
    return (
        f"Expected run time to targets, {where}: the {noun} of all runs that reached the target, "
        f"plus the budget of {settings.budget:g} for each run that did not, divided by the number "
        "of runs that did. ∞: no run reached it."
    )


def _block(part: pd.DataFrame, targets: list[float], caption: str) -> Block:
    cells = {"solver": part["entry"].tolist()}
    for target in targets:
        cells[f"to {target:g} nat"] = [_text(value) for value in part[f"ert_{target:g}"]]
    return Block(caption, pd.DataFrame(cells))


def _text(value: float) -> str:
    if math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else number(value, 4)
