"""Compare the runs that two studies have in common."""

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import computed, final
from gvibench.report.page.sections import Section, table_section
from gvibench.spec.messages import counted
from gvibench.tables.formats import Block, number

__all__ = ["compared_runs"]

IGNORED_FIELDS = ("device", "threads")
"""Spec fields in which compared runs may differ, so that a CPU can be compared with a GPU."""


def compared_runs(first: xr.Dataset, second: xr.Dataset) -> Section:
    """Return a table with final objectives and solver times of the runs in both studies."""
    runs_a, runs_b = _by_spec(first), _by_spec(second)
    both = [key for key in runs_a if key in runs_b]
    rows = [_row(runs_a[key], runs_b[key]) for key in both]
    caption = (
        f"{counted(len(both), 'run')} with the same spec (except device and threads) in A and B; "
        f"{len(runs_a) - len(both)} only in A, {len(runs_b) - len(both)} only in B"
    )
    return table_section(caption, Block("", pd.DataFrame(rows), 2))


def _by_spec(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return the runs by spec, without the ignored fields."""
    values = computed({name: final(dataset[name]) for name in ("objective", "seconds")})
    columns = {name: dataset[name].values.tolist() for name in ("seed", "status", "spec_hash")}
    runs = {}
    for config in configurations(dataset):
        for run in config.runs:
            spec = {**config.spec, "seed": columns["seed"][run], **dict.fromkeys(IGNORED_FIELDS)}
            key = json.dumps(spec, sort_keys=True)
            runs[key] = {
                "panel": config.panel,
                "line": config.line,
                "step": config.step,
                "scale": config.init_scale,
                **{name: column[run] for name, column in columns.items()},
                "objective": float(values["objective"][run]),
                "seconds": float(values["seconds"][run]),
            }
    return runs


def _row(run_a: dict[str, Any], run_b: dict[str, Any]) -> dict[str, str]:
    change = run_b["objective"] - run_a["objective"]
    ratio = run_b["seconds"] / run_a["seconds"] if run_a["seconds"] > 0 else np.nan
    return {
        "data set": run_a["panel"],
        "solver": run_a["line"],
        "step": number(run_a["step"]),
        "C0": number(run_a["scale"]),
        "seed": str(run_a["seed"]),
        "status": _both(run_a["status"], run_b["status"]),
        "objective A": number(run_a["objective"], 9),
        "objective B": number(run_b["objective"], 9),
        "B − A": number(change, 3),
        "seconds A": number(run_a["seconds"], 3),
        "seconds B": number(run_b["seconds"], 3),
        "time B / A": "–" if np.isnan(ratio) else number(ratio, 3),
        "spec hash": _both(run_a["spec_hash"], run_b["spec_hash"]),
    }


def _both(text_a: str, text_b: str) -> str:
    return text_a if text_a == text_b else f"{text_a} → {text_b}"
