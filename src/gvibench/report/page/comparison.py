"""Two studies, run by run: the same spec before and after, here and there."""

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import final
from gvibench.report.page.sections import Section, table_section
from gvibench.report.summary import count
from gvibench.tables.formats import Block, number

__all__ = ["compared_runs"]

PLACES = ("device", "threads")
"""Where a run is done: comparing a CPU with a GPU is comparing runs that differ in this."""


def compared_runs(first: xr.Dataset, second: xr.Dataset) -> Section:
    """Return a table of the runs that both studies have: final objectives and solver times."""
    ours, theirs = _by_spec(first), _by_spec(second)
    both = [key for key in ours if key in theirs]
    rows = [_row(ours[key], theirs[key]) for key in both]
    caption = (
        f"{count(len(both), 'run')} with the same spec (device and threads apart) in A and B; "
        f"{len(ours) - len(both)} only in A, {len(theirs) - len(both)} only in B"
    )
    return table_section(caption, Block("", pd.DataFrame(rows), 2))


def _by_spec(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return the runs by their spec, apart from where they were done."""
    objective, seconds = (final(dataset[name].values) for name in ("objective", "seconds"))
    found = {}
    for one in configurations(dataset):
        for run in one.runs:
            spec = json.loads(dataset["spec"].values[run])
            key = json.dumps({**spec, **dict.fromkeys(PLACES)}, sort_keys=True)
            found[key] = {
                "panel": one.panel,
                "line": one.line,
                "step": one.step,
                "scale": one.init_scale,
                "seed": dataset["seed"].values[run],
                "status": str(dataset["status"].values[run]),
                "objective": float(objective[run]),
                "seconds": float(seconds[run]),
                "spec_hash": str(dataset["spec_hash"].values[run]),
            }
    return found


def _row(one: dict[str, Any], other: dict[str, Any]) -> dict[str, str]:
    change = other["objective"] - one["objective"]
    ratio = other["seconds"] / one["seconds"] if one["seconds"] > 0 else np.nan
    return {
        "data set": one["panel"],
        "solver": one["line"],
        "step": number(one["step"]),
        "C0": number(one["scale"]),
        "seed": str(one["seed"]),
        "status": _both(one["status"], other["status"]),
        "objective A": number(one["objective"], 9),
        "objective B": number(other["objective"], 9),
        "B − A": number(change, 3),
        "seconds A": number(one["seconds"], 3),
        "seconds B": number(other["seconds"], 3),
        "time B / A": "–" if np.isnan(ratio) else number(ratio, 3),
        "spec hash": _both(one["spec_hash"], other["spec_hash"]),
    }


def _both(one: str, other: str) -> str:
    return one if one == other else f"{one} → {other}"
