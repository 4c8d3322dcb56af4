"""Build the table of quality: predictions of the Gaussians and their fit to the posterior."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import unique
from gvibench.analysis.measures import Measured, measured
from gvibench.spec.measures import MEASURES
from gvibench.tables.formats import Block, Table, number, spread, step_text, with_full_cells

__all__ = [
    "NONE",
    "build",
    "label_cells",
    "notes_of",
    "quality_blocks",
    "range_text",
    "value_columns",
]

NONE = "–"
PREDICTIONS = {
    "predictive NLL": ("pred_nll", 5),
    "Brier score": ("brier", 4),
    "AUC": ("auc", 4),
    "calibration error": ("ece", 3),
}
FIT = {
    "log evidence": ("log_evidence", 7),
    "its error": ("log_evidence_error", 2),
    "evidence gap": ("evidence_gap", 3),
    "ESS / draws": ("ess", 2),
    "KL to optimum": ("kl", 3),
    "W2 to optimum": ("w2", 3),
}
PREDICTIONS_CAPTION = (
    "Predictions on the test rows, averaged over q: mean negative log-likelihood (nat), Brier "
    "score, area under the ROC curve, and expected calibration error in ten bins of equal size. "
    "Smaller is better, except for the AUC. Median [min, max] over the seeds."
)
FIT_CAPTION = (
    "Fit to the posterior: log evidence by importance sampling from q with its standard error, "
    "evidence gap (negative ELBO + log evidence = KL from q to the posterior), effective sample "
    "size as a share of the draws, k-hat with its reading (below 0.5 good, below 0.7 usable, else "
    "unreliable), and the distances KL(q || optimum) and W2 to the optimal Gaussian. "
    "Median [min, max] over the seeds."
)


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each measured Gaussian: the optima and other limits."""
    rows = measured(dataset)
    values = pd.DataFrame([_values(row) for row in rows])
    return Table(values, quality_blocks(rows))


def quality_blocks(rows: list[Measured]) -> list[Block]:
    """Return the block of predictions and the block of the fit to the posterior."""
    return [
        with_full_cells(lambda: _block(PREDICTIONS_CAPTION, rows, PREDICTIONS)),
        with_full_cells(lambda: _block(FIT_CAPTION, rows, FIT, k_hat=True)),
    ]


def _values(row: Measured) -> dict[str, Any]:
    return {
        **value_columns(row, MEASURES[: MEASURES.index("mean_error_max")]),
        "reading": _reading(row),
        "note": notes_of(row, MEASURES[: MEASURES.index("mean_error_max")]),
    }


def value_columns(row: Measured, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the labels of a Gaussian, and the median, minimum and maximum of measures."""
    config = row.configuration
    result: dict[str, Any] = {
        "problem": row.panel,
        "dataset": config.dataset,
        "gaussian": row.line,
        "solver": "" if row.is_optimum else config.solver_id,
        "step": np.nan if row.is_optimum else config.step_size,
        "init_scale": np.nan if row.is_optimum else config.init_scale,
        "gaussians": len(row.values[names[0]]),
    }
    for name in names:
        finite = row.finite(name)
        for statistic, function in (("median", np.median), ("min", np.min), ("max", np.max)):
            result[f"{name}_{statistic}"] = float(function(finite)) if len(finite) else np.nan
    return result


def label_cells(rows: list[Measured]) -> dict[str, list[str]]:
    """Return the columns that name the Gaussians. Steps are shown if a solver has one."""
    cells = {
        "data set": [row.panel for row in rows],
        "Gaussian": [row.line for row in rows],
    }
    steps = [NONE if row.is_optimum else _start(row) for row in rows]
    return cells | {"step": steps} if set(steps) != {NONE} else cells


def _start(row: Measured) -> str:
    config = row.configuration
    return step_text(config.step_size, config.step_rule)


def range_text(row: Measured, name: str, digits: int) -> str:
    """Return a measure as "median [min, max]" over the seeds, or a dash."""
    finite = row.finite(name)
    if not len(finite):
        return NONE
    if name in {"kl", "w2"}:  # rounding errors at the optimum itself
        finite = np.where(finite < 1e-9, 0.0, finite)
    return spread(float(np.median(finite)), float(finite.min()), float(finite.max()), digits)


def _block(
    caption: str,
    rows: list[Measured],
    columns: dict[str, tuple[str, int]],
    *,
    k_hat: bool = False,
) -> Block:
    cells = label_cells(rows)
    width = len(cells)
    for title, (name, digits) in columns.items():
        cells[title] = [range_text(row, name, digits) for row in rows]
    names = tuple(name for name, _ in columns.values())
    if k_hat:
        cells["k-hat"] = [_k_hat(row) for row in rows]
        names = (*names, "k_hat")
    notes = [notes_of(row, names) for row in rows]
    if any(notes):
        cells["note"] = [note or NONE for note in notes]
    return Block(caption, pd.DataFrame(cells), text_columns=width)


def _k_hat(row: Measured) -> str:
    finite = row.finite("k_hat")
    if not len(finite):
        return NONE
    text = number(float(np.median(finite)), 3)
    return f"{text} ({_reading(row)})"


def _reading(row: Measured) -> str:
    """Return the reading of k-hat, with counts if seeds differ."""
    counts = Counter(text for text in row.texts["reading"] if text and text != "unknown")
    if len(counts) <= 1:
        return next(iter(counts), "")
    return ", ".join(f"{count} {text}" for text, count in counts.most_common())


def notes_of(row: Measured, names: tuple[str, ...]) -> str:
    """Return the reasons why measures are missing, each once."""
    return "; ".join(unique(row.notes[name] for name in names if name in row.notes))
