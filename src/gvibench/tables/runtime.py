"""Build the table of times per iteration by the number of features, with growth exponents."""

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
    """Return a table with a row for each solver at each size."""
    runtimes = measure(dataset)
    values = pd.DataFrame([_values(runtime) for runtime in runtimes])
    return Table(values, [_times(runtimes), _growth(runtimes)])


def _values(runtime: Runtime) -> dict[str, object]:
    return {
        "method": runtime.line,
        "solver": runtime.solver_id,
        "training_rows": runtime.rows,
        "features": runtime.features,
        "runs": runtime.runs,
        "seconds_per_iteration_mean": runtime.mean,
        "seconds_per_iteration_min": runtime.low,
        "seconds_per_iteration_max": runtime.high,
        "operations_paper": _operations(PAPER, runtime),
        "operations_ours": _operations(OURS, runtime),
    }


def _operations(counts: dict[str, Work], runtime: Runtime) -> float | str:
    work = counts.get(runtime.solver_id)
    return NONE if work is None else work(runtime.rows, runtime.features)


def _times(runtimes: list[Runtime]) -> Block:
    lines = unique(runtime.line for runtime in runtimes)
    rows = []
    for size in unique((runtime.rows, runtime.features) for runtime in runtimes):
        cells = {
            runtime.line: _milliseconds(runtime)
            for runtime in runtimes
            if (runtime.rows, runtime.features) == size
        }
        rows.append(
            {"training rows": str(size[0]), "features": str(size[1])}
            | {line: cells.get(line, NONE) for line in lines}
        )
    caption = f"Milliseconds per iteration: mean [min, max] over runs. {NONE}: no run completed."
    return Block(caption, pd.DataFrame(rows), text_columns=0)


def _milliseconds(runtime: Runtime) -> str:
    return spread(1e3 * runtime.mean, 1e3 * runtime.low, 1e3 * runtime.high, DIGITS)


def _growth(runtimes: list[Runtime]) -> Block:
    rows = []
    for size, line in unique((runtime.rows, runtime.line) for runtime in runtimes):
        points = [runtime for runtime in runtimes if (runtime.rows, runtime.line) == (size, line)]
        counted = {
            name: counts.get(points[0].solver_id)
            for name, counts in (("paper's count", PAPER), ("our count", OURS))
        }
        rows.append(
            {
                "solver": line,
                "training rows": str(size),
                "measured": _power(exponent(points, lambda point: point.mean)),
                **{name: _power_of(points, work) for name, work in counted.items()},
            }
        )
    caption = (
        "Exponent p of time ~ d^p over the larger half of the sizes, measured and predicted by "
        "operation counts. The paper counts only the update, our count includes g and H. "
        f"{NONE}: fewer than two sizes, or no count."
    )
    return Block(caption, pd.DataFrame(rows))


def _power_of(points: list[Runtime], work: Work | None) -> str:
    if work is None:
        return NONE
    return _power(exponent(points, lambda point: work(point.rows, point.features)))


def _power(value: float) -> str:
    return NONE if math.isnan(value) else number(value, 3)
