"""Build the table of winners: the first solver to reach a small gap on each problem."""

from typing import Any

import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import unique
from gvibench.analysis.costs import COSTS
from gvibench.analysis.efforts import LEVELS
from gvibench.spec.statuses import UNUSABLE
from gvibench.tables.formats import Block, Table, number, step_text, with_full_cells
from gvibench.tables.performance import REACHED, values_of

__all__ = ["build"]

CLOSEST = "smallest final gap (nat)"
"""Measure that decides if no solver settles at any level."""
UNRESOLVED = "not resolved by the records"
"""Text in place of a factor if the recording schedule cannot decide which solver was first."""


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each problem and measure, with each solver at its best.

    Solvers are compared at the smallest gap at which all seeds of some solver settle. The
    candidates are the gaps of the table `performance`.
    """
    values = values_of(dataset)
    best = values[values["best_of_solver"]]
    rows = []
    for problem, group in best.groupby("problem", sort=False):
        records = list(group.to_dict("records"))
        level = _common_level(records)
        if level is None:
            rows.append({"problem": problem, **_closest(records)})
        else:
            measures = unique([records[0]["cost"], "seconds"])
            rows += [{"problem": problem, **_first(records, level, name)} for name in measures]
    return Table(pd.DataFrame(rows), [with_full_cells(lambda: _block(rows))])


def _common_level(records: list[dict[Any, Any]]) -> float | None:
    """Return the smallest level at which all seeds of some solver settle, or None."""
    for level in sorted(LEVELS):
        if any(_settles(row, level) for row in records):
            return level
    return None


def _settles(row: dict[Any, Any], level: float) -> bool:
    return bool(row[f"reached_settled_{level:g}"] == row["seeds"])


def _first(records: list[dict[Any, Any]], level: float, measure: str) -> dict[str, Any]:
    """Return the row of the solver that settles first at a level."""
    name = f"{measure}_settled_{level:g}_median"
    ordered = sorted((row for row in records if _settles(row, level)), key=lambda row: row[name])
    winner = ordered[0]
    tied = [row for row in ordered if row[name] == winner[name]]
    runner_up = ordered[len(tied)] if len(tied) < len(ordered) else None
    return {
        "measure": "least time (s)" if measure == "seconds" else f"fewest {COSTS[measure].noun}",
        "level": level,
        "winner": " and ".join(map(_named, tied)) + " (tied)" * (len(tied) > 1),
        "value": winner[name],
        "runner_up": runner_up and runner_up["method"],
        "factor": runner_up and runner_up[name] / max(winner[name], 1e-12),
        "resolved": runner_up is None or _is_resolved(winner, runner_up, level),
        "not_arrived": "; ".join(row["method"] for row in records if row not in ordered),
    }


def _is_resolved(winner: dict[Any, Any], other: dict[Any, Any], level: float) -> bool:
    """Return whether the recording schedule shows that the winner was first."""
    name = f"{winner['cost']}_settled_{level:g}"
    latest, earliest = winner[f"{name}_at_most"], other[f"{name}_at_least"]
    exact = all(row[f"{name}_at_most"] == row[f"{name}_at_least"] for row in (winner, other))
    return exact or bool(latest < earliest)


def _closest(records: list[dict[Any, Any]]) -> dict[str, Any]:
    """Return the row of the solver with the smallest final gap."""
    usable = [row for row in records if isinstance(row["gap_median"], float)]
    # As in the ranking, a solver with fewer diverged or failed seeds comes first.
    ordered = sorted(
        usable, key=lambda row: (sum(row[status] for status in UNUSABLE), row["gap_median"])
    )
    winner = ordered[0] if ordered else None
    return {
        "measure": CLOSEST,
        "level": None,
        "winner": _named(winner) if winner else "none",
        "value": winner and winner["gap_median"],
        "runner_up": ordered[1]["method"] if len(ordered) > 1 else None,
        "factor": None,
        "resolved": True,
        "not_arrived": "; ".join(row["method"] for row in records),
    }


def _named(row: dict[Any, Any]) -> str:
    step = step_text(row["step"], row["step_rule"])
    return f"{row['method']} (step {step}, C0 {row['init_scale']:g})"


def _block(rows: list[dict[str, Any]]) -> Block:
    cells = {
        "data set": [row["problem"] for row in rows],
        "measure": [row["measure"] for row in rows],
        "to a gap of": [_or_dash(row["level"]) for row in rows],
        "winner": [row["winner"] for row in rows],
        "its value": [_or_dash(row["value"], 3) for row in rows],
        "runner-up": [row["runner_up"] or "–" for row in rows],
        "takes": [_factor(row) for row in rows],
        "did not settle": [row["not_arrived"] or "–" for row in rows],
    }
    caption = (
        "First solver to reach a small gap: median over the seeds, each solver at its best step "
        "and initial scale. The gap is the smallest of "
        f"{', '.join(f'{level:g}' for level in LEVELS)} nats at which all seeds of some solver "
        "settle. If there is none, the winner has the fewest seeds that diverged or failed, and "
        f"then the smallest final gap. {REACHED} If the records cannot decide which solver was "
        f'first, the table shows "{UNRESOLVED}".'
    )
    return Block(caption, pd.DataFrame(cells), text_columns=4)


def _factor(row: dict[str, Any]) -> str:
    if not row["factor"]:
        return "–"
    return f"{row['factor']:.3g} x" if row["resolved"] else UNRESOLVED


def _or_dash(value: float | str | None, digits: int = 6) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else number(value, digits)
