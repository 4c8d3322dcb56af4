"""Build the table that ranks the solvers on each problem."""

from typing import Any

import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.costs import COSTS
from gvibench.analysis.ranking import TIE_LEVEL, Ranking
from gvibench.tables.cells import cell_text, ended, reached_text
from gvibench.tables.formats import Block, number, step_text, with_full_cells
from gvibench.tables.performance import values_of

__all__ = ["LEADING_RANKS", "ranking_block"]

LEADING_RANKS = 3
"""Solvers on each problem that the page shows before a reader asks for all of them."""

Row = tuple[int, Configuration, dict[Any, Any]]
"""Rank of a solver on a problem, its best configuration, and its row in the table of values."""


def ranking_block(dataset: xr.Dataset) -> tuple[Block, list[bool]]:
    """Return the ranking, and for each of its rows whether the page shows it at first."""
    ranking = Ranking.of(dataset)
    configs = configurations(dataset)
    records: list[dict[Any, Any]] = values_of(dataset).to_dict("records")
    record_of = {id(config): row for config, row in zip(configs, records, strict=True)}
    lines = ranking.best_lines(configs)
    rows: list[Row] = []
    for panel in unique(line.panel for line in lines):
        here = sorted((line for line in lines if line.panel == panel), key=ranking.key)
        merits = [ranking.merit(line) for line in here]
        # Tied solvers share a rank: 1, 1, 3.
        rows += [
            (1 + merits.index(merit), line, record_of[id(line)])
            for line, merit in zip(here, merits, strict=True)
        ]
    block = with_full_cells(lambda: _block(rows))
    return block, [rank <= LEADING_RANKS for rank, *_ in rows]


def _block(rows: list[Row]) -> Block:
    level, cost = f"{TIE_LEVEL:g}", rows[0][-1]["cost"]
    cells = {
        "data set": [line.panel for _, line, _ in rows],
        "rank": [str(rank) if len(line.usable) else "–" for rank, line, _ in rows],
        "solver": [line.line for _, line, _ in rows],
        "step": [step_text(line.step_size, line.step_rule) for _, line, _ in rows],
        "C0": [number(line.init_scale) for _, line, _ in rows],
        "runs": [ended(row) for *_, row in rows],
        "final gap": [cell_text(row, "gap") for *_, row in rows],
        f"{COSTS[cost].noun} to {level}": [
            reached_text(row, f"{cost}_settled_{level}") for *_, row in rows
        ],
        "compared with the best": [_compared(row) for *_, row in rows],
    }
    return Block("", pd.DataFrame(cells), text_columns=1)


def _compared(row: dict[Any, Any]) -> str:
    if row["is_best"]:
        return "best"
    if row["tied_with_best"]:
        return "tied"
    if row["solves_fewer_seeds"] and row["solved"]:
        return f"solves {row['solved']} of {row['seeds']} seeds"
    if row["both_gaps_zero"]:
        return "also at gap 0"
    if row["bands_overlap_best"]:
        return "within the seeds"
    difference = row["difference_to_best_median"]
    return difference if isinstance(difference, str) else f"{number(difference, 3)} nat behind"
