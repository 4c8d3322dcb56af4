"""Build the matrix of the probabilities that one entry beats another one."""

import pandas as pd
import xarray as xr

from gvibench.analysis.outcomes import study_outcomes
from gvibench.analysis.scores import bootstrap
from gvibench.spec.scoring import ScoreSettings
from gvibench.tables.formats import Block, Table
from gvibench.tables.scores import sizes_text

__all__ = ["beats_table", "build"]

COLUMNS = 8
"""Number of entries in the columns of a block."""


def build(dataset: xr.Dataset) -> Table:
    """Return the matrix of a study."""
    return beats_table(*study_outcomes(dataset))


def beats_table(outcomes: xr.Dataset, settings: ScoreSettings) -> Table:
    """Return a row for each entry and a column for each other one, best first."""
    beats = bootstrap(outcomes, settings.budget, settings.draws, least=settings.least)["beats"]
    names = beats["entry"].values.tolist()
    values = pd.DataFrame(beats.values, columns=names)
    values.insert(0, "entry", names, allow_duplicates=True)
    blocks = [
        _block(beats.isel(other=slice(start, start + COLUMNS)), _caption(outcomes, settings))
        for start in range(0, len(names), COLUMNS)
    ]
    return Table(values, blocks)


def _caption(outcomes: xr.Dataset, settings: ScoreSettings) -> str:
    return (
        "Probability that the solver of the row has a higher score than the one of the column, "
        f"over {sizes_text(outcomes)}: the share of {settings.draws} bootstrap samples of problems "
        "and their instances, where equal scores count half. Solvers are not separable if it lies "
        "between 0.025 and 0.975."
    )


def _block(beats: xr.DataArray, caption: str) -> Block:
    cells = {"solver": beats["entry"].values.tolist()}
    for other in beats["other"].values.tolist():
        column = beats.sel(other=other)
        cells[f"> {other}"] = [
            "–" if entry == other else f"{float(column.sel(entry=entry)):.3f}"
            for entry in cells["solver"]
        ]
    return Block(caption, pd.DataFrame(cells))
