"""Time per iteration against the number of features, with the exponents of its growth."""

import math

import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import unique
from gvibench.analysis.scaling import OURS, PAPER, Runtime, Work, exponent, measure
from gvibench.tables.formats import Block, Table, number, spread

__all__ = ["build"]

NONE = "–"
DIGITS = 4


def build(dataset: xr.Dataset) -> Table:
    """Return the table: a row for every solver at every size."""
    measured = measure(dataset)
    return Table(
        pd.DataFrame([_values(one) for one in measured]), [_times(measured), _growth(measured)]
    )


def _values(one: Runtime) -> dict[str, object]:
    return {
        "method": one.line,
        "solver": one.solver_id,
        "training_rows": one.rows,
        "features": one.features,
        "runs": one.runs,
        "seconds_per_iteration_mean": one.mean,
        "seconds_per_iteration_min": one.low,
        "seconds_per_iteration_max": one.high,
        "operations_paper": _operations(PAPER, one),
        "operations_ours": _operations(OURS, one),
    }


def _operations(counts: dict[str, Work], one: Runtime) -> float | str:
    known = counts.get(one.solver_id)
    return NONE if known is None else known(one.rows, one.features)


def _times(measured: list[Runtime]) -> Block:
    lines = unique(one.line for one in measured)
    rows = []
    for size in unique((one.rows, one.features) for one in measured):
        here = {one.line: one for one in measured if (one.rows, one.features) == size}
        cells = {line: _milliseconds(one) for line, one in here.items()}
        rows.append(
            {"training rows": str(size[0]), "features": str(size[1])}
            | {line: cells.get(line, NONE) for line in lines}
        )
    caption = f"Milliseconds per iteration: mean [min, max] over runs. {NONE}: no run completed."
    return Block(caption, pd.DataFrame(rows), text_columns=0)


def _milliseconds(one: Runtime) -> str:
    return spread(1e3 * one.mean, 1e3 * one.low, 1e3 * one.high, DIGITS)


def _growth(measured: list[Runtime]) -> Block:
    rows = []
    for size, line in unique((one.rows, one.line) for one in measured):
        points = [one for one in measured if (one.rows, one.line) == (size, line)]
        counted = {
            name: counts.get(points[0].solver_id)
            for name, counts in (("paper's count", PAPER), ("our count", OURS))
        }
        rows.append(
            {
                "solver": line,
                "training rows": str(size),
                "measured": _power(exponent(points, lambda one: one.mean)),
                **{name: _power_of(points, work) for name, work in counted.items()},
            }
        )
    caption = (
        "Exponent p of time ~ d^p over the larger half of the sizes, measured and as operation "
        f"counts have it: the paper's are of the update alone, ours include g and H. {NONE}: "
        "fewer than two sizes, or no count."
    )
    return Block(caption, pd.DataFrame(rows))


def _power_of(points: list[Runtime], work: Work | None) -> str:
    return (
        NONE if work is None else _power(exponent(points, lambda one: work(one.rows, one.features)))
    )


def _power(value: float) -> str:
    return NONE if math.isnan(value) else number(value, 3)
