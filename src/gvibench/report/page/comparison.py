"""Compare the runs that two studies have in common."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import computed, final
from gvibench.report.page.sections import Section, table_section
from gvibench.spec.messages import counted
from gvibench.spec.statuses import UNUSABLE
from gvibench.tables.formats import Block, number, step_text

__all__ = ["compared_runs"]

IGNORED_FIELDS = ("device", "threads")
"""Spec fields in which compared runs may differ, so that a CPU can be compared with a GPU."""


ROWS_AT_FIRST = 10
"""Rows that the page shows before a reader asks for all of them."""

Pair = tuple[dict[str, Any], dict[str, Any]]
"""The same run in both studies."""


def compared_runs(first: xr.Dataset, second: xr.Dataset) -> Section:
    """Return a table of the runs in both studies, with a sentence that sums it up."""
    runs_a, runs_b = _by_spec(first), _by_spec(second)
    both = [key for key in runs_a if key in runs_b]
    pairs = [(runs_a[key], runs_b[key]) for key in both]
    rows = [_row(*pair) for pair in pairs]
    caption = (
        f"{counted(len(both), 'run')} with the same spec (except device and threads) in A and B; "
        f"{len(runs_a) - len(both)} only in A, {len(runs_b) - len(both)} only in B"
    )
    section = table_section(caption, Block("", pd.DataFrame(rows), 2))
    return section | {"conclusion": _conclusion(pairs), "rows_at_first": ROWS_AT_FIRST}


def _conclusion(pairs: Sequence[Pair]) -> str:
    """Return how much the results and the times of both studies differ."""
    if not pairs:
        return "The studies have no run in common."
    usable = [pair for pair in pairs if not any(run["status"] in UNUSABLE for run in pair)]
    sentences = []
    if usable:
        largest = max(abs(b["objective"] - a["objective"]) for a, b in usable)
        differ = f"differ by at most {number(largest, 2)} nat" if largest else "are equal"
        sentences.append(
            f"The final objectives of the {counted(len(usable), 'usable run')} in both studies "
            f"{differ}."
        )
    if changed := sum(a["status"] != b["status"] for a, b in pairs):
        sentences.append(f"{counted(changed, 'run')} ended with another status.")
    ratios = [b["seconds"] / a["seconds"] for a, b in pairs if a["seconds"] > 0]
    if ratios:
        ratio = number(float(np.median(ratios)), 3)
        times = "" if ratio == "1" else f"{ratio} times "
        sentences.append(f"The median run takes {times}as long in B as in A.")
    return " ".join(sentences)


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
                "step": step_text(config.step_size, config.step_rule),
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
        "step": run_a["step"],
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
