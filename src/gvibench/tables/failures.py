"""Build the table of failures: how the runs of each entry ended, and why."""

import pandas as pd
import xarray as xr

from gvibench.analysis.outcomes import study_outcomes
from gvibench.analysis.scores import MISSING, failures
from gvibench.analysis.statuses import MEANINGS
from gvibench.spec.scoring import ScoreSettings
from gvibench.tables.formats import Block, Table
from gvibench.tables.scores import sizes_text

__all__ = ["build", "failures_table"]


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each entry, status and reason of a study."""
    return failures_table(*study_outcomes(dataset))


def failures_table(outcomes: xr.Dataset, _: ScoreSettings) -> Table:
    """Return a table with a row for each entry, status and reason."""
    values = failures(outcomes)
    total = outcomes.sizes["instance"]
    cells = pd.DataFrame(
        {
            "solver": values["entry"],
            "status": values["status"],
            "reason": [reason or "–" for reason in values["reason"]],
            "problems": values["problems"],
            "runs": [f"{count}/{total}" for count in values["count"]],
        }
    )
    present = set(values["status"])
    meanings = [f"{name}: {text}" for name, text in MEANINGS.items() if name in present]
    if MISSING in present:
        meanings.append(f"{MISSING}: the study has no run of the solver on the instance")
    caption = f"How runs ended, over {sizes_text(outcomes)}. {'; '.join(meanings)}."
    return Table(values, [Block(caption, cells, text_columns=4)])
