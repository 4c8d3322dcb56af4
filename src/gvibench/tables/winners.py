"""Who wins, on which data, and by how much."""

from typing import Any

import pandas as pd
import xarray as xr

from gvibench.tables.formats import Block, Table, number
from gvibench.tables.performance import LEVELS, values_of

__all__ = ["build"]

MEASURES = {"iterations": "fewest iterations", "seconds": "least time (s)"}


def build(dataset: xr.Dataset) -> Table:
    """Return the table: a row for every problem and measure, solvers at their best.

    Solvers compete for the smallest gap of `LEVELS` that any of them reaches with every seed.
    """
    values = values_of(dataset)
    best = values[values["best_of_solver"]]
    rows = [
        _row(problem, list(of_problem.to_dict("records")), measure)
        for problem, of_problem in best.groupby("problem", sort=False)
        for measure in MEASURES
    ]
    return Table(pd.DataFrame(rows), [_block(rows)])


def _row(problem: Any, records: list[dict[Any, Any]], measure: str) -> dict[str, Any]:
    row: dict[str, Any] = {"problem": problem, "measure": measure}
    for level in sorted(LEVELS):
        name = f"{measure}_to_{level:g}"
        arrived = [one for one in records if one[f"{name}_reached"] == one["seeds"]]
        if arrived:
            break
    else:
        closest = min(records, key=lambda one: _as_number(one["gap_mean"]))
        return row | {
            "level": None,
            "winner": closest["method"],
            "value": closest["gap_mean"],
            "runner_up": None,
            "factor": None,
            "not_arrived": ", ".join(one["method"] for one in records),
        }
    ordered = sorted(arrived, key=lambda one: one[f"{name}_mean"])
    first = ordered[0]
    second = ordered[1] if len(ordered) > 1 else None
    return row | {
        "level": level,
        "winner": f"{first['method']} (step {first['step']:g}, C0 {first['init_scale']:g})",
        "value": first[f"{name}_mean"],
        "runner_up": second and second["method"],
        "factor": second and second[f"{name}_mean"] / max(first[f"{name}_mean"], 1e-12),
        "not_arrived": ", ".join(one["method"] for one in records if one not in arrived),
    }


def _as_number(value: Any) -> float:
    return value if isinstance(value, float) else float("inf")


def _block(rows: list[dict[str, Any]]) -> Block:
    cells = {
        "data set": [row["problem"] for row in rows],
        "measure": [MEASURES[row["measure"]] for row in rows],
        "to a gap of": [_or_dash(row["level"]) for row in rows],
        "winner": [row["winner"] for row in rows],
        "its value": [_or_dash(row["value"], 3) for row in rows],
        "runner-up": [row["runner_up"] or "–" for row in rows],
        "takes": [(row["factor"] and f"{row['factor']:.3g} x") or "–" for row in rows],
        "did not arrive": [row["not_arrived"] or "–" for row in rows],
    }
    caption = (
        "Who gets there first: mean over the seeds, each solver at its best step and initial "
        "scale, to the smallest of the gaps "
        f"{', '.join(f'{level:g}' for level in LEVELS)} nats that a solver reaches with every "
        "seed. Where none does, the winner is the one with the smallest final gap, its value."
    )
    return Block(caption, pd.DataFrame(cells), text_columns=4)


def _or_dash(value: float | str | None, digits: int = 6) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else number(value, digits)
