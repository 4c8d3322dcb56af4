"""Build the table of truth: Gaussians compared with the true posterior."""

from collections import Counter
from typing import Any

import pandas as pd
import xarray as xr

from gvibench.analysis.measures import Measured, measured
from gvibench.spec.measures import TRUTH_MEASURES
from gvibench.tables.formats import Block, Table, with_full_cells
from gvibench.tables.quality import NONE, label_cells, notes_of, range_text, value_columns

__all__ = ["build"]

COLUMNS = {
    "mean error, max": ("mean_error_max", 3),
    "rms": ("mean_error_rms", 3),
    "its MC error": ("mean_error_mc", 2),
    "sd ratio, min": ("sd_ratio_min", 4),
    "median": ("sd_ratio_median", 4),
    "max": ("sd_ratio_max", 4),
    "its MC error ": ("sd_ratio_mc", 2),
}
CAPTION = (
    "Gaussians compared with the true posterior. Error of the mean: distance to the posterior mean "
    "in posterior standard deviations, the largest of all coordinates and the root mean square. "
    "Ratio of standard deviations: that of q divided by that of the posterior. The MC errors are "
    "the largest Monte Carlo errors of the truth itself; smaller differences mean nothing. "
    "Median [min, max] over the seeds."
)


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each measured Gaussian."""
    rows = measured(dataset)
    values = pd.DataFrame([_values(row) for row in rows])
    return Table(values, [with_full_cells(lambda: _block(rows))])


def _values(row: Measured) -> dict[str, Any]:
    return {
        **value_columns(row, TRUTH_MEASURES),
        "worst": _common(row, "worst"),
        "truth": _common(row, "truth"),
        "note": notes_of(row, TRUTH_MEASURES),
    }


def _common(row: Measured, name: str) -> str:
    """Return the text that most seeds have."""
    counts = Counter(text for text in row.texts[name] if text)
    return counts.most_common(1)[0][0] if counts else ""


def _block(rows: list[Measured]) -> Block:
    cells = label_cells(rows)
    width = len(cells)
    for title, (name, digits) in COLUMNS.items():
        cells[title] = [range_text(row, name, digits) for row in rows]
    cells["worst mean"] = [_common(row, "worst") or NONE for row in rows]
    notes = [_common(row, "truth") or notes_of(row, TRUTH_MEASURES) for row in rows]
    cells["truth"] = [note or NONE for note in notes]
    return Block(CAPTION, pd.DataFrame(cells), text_columns=width)
