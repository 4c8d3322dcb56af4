"""What was run on: data sets, their splits, and the settings of every solver."""

import json
import math
from typing import Any

import pandas as pd
import xarray as xr

from gvibench.analysis import Configuration, configurations, unique
from gvibench.datasets.catalogue import Entry, find
from gvibench.spec import DataSpec, parse
from gvibench.tables.formats import Block, Table, number

__all__ = ["build", "train_rows"]

UNKNOWN = "–"
MANY = 4
"""More steps than these are summed up as a range."""


def build(dataset: xr.Dataset) -> Table:
    """Return the table: a row for every problem of the study."""
    every = configurations(dataset)
    lines = unique(one.line for one in every)
    facts, steps, scales = [], [], []
    for panel in unique(one.panel for one in every):
        here = [one for one in every if one.panel == panel]
        specs = [json.loads(dataset["spec"].values[one.runs[0]]) for one in here]
        facts.append({"data set": panel, **_facts(specs)})
        of_line = {line: [one for one in here if one.line == line] for line in lines}
        steps.append({line: _steps(members) for line, members in of_line.items()})
        scales.append({line: _scales(members) for line, members in of_line.items()})
    names = [{"data set": row["data set"]} for row in facts]
    values = [
        row
        | {f"step of {line}": text for line, text in step.items()}
        | {f"C0 of {line}": text for line, text in scale.items()}
        for row, step, scale in zip(facts, steps, scales, strict=True)
    ]
    return Table(
        pd.DataFrame(values),
        [
            Block(
                "Data sets and settings. –: known only to the data file.",
                pd.DataFrame(facts),
                text_columns=6,
            ),
            Block(
                "Steps of each solver.",
                pd.DataFrame([a | b for a, b in zip(names, steps, strict=True)]),
            ),
            Block(
                "Initial scales of each solver: the covariance starts at C0 squared times I.",
                pd.DataFrame([a | b for a, b in zip(names, scales, strict=True)]),
            ),
        ],
    )


def _facts(specs: list[dict[str, Any]]) -> dict[str, str]:
    data = parse(DataSpec, specs[0]["data"], "data")
    entry = find(data)
    rows = int(data.options.get("n", 0)) or entry.n
    columns = int(data.options.get("d", 0)) or entry.d
    trained = train_rows(data, entry, rows)
    return {
        "description": entry.title,
        "split": _split(data),
        "scaling": data.scaling,
        "model": _distinct(specs, "model"),
        "expectation": _distinct(specs, "expectation"),
        "rows": _count(rows),
        "training rows": _count(trained),
        "features": _count(columns + data.intercept if columns else None),
        "beta": _distinct(specs, "beta"),
        "gamma": _distinct(specs, "gamma"),
        "iterations": _distinct(specs, "iterations"),
    }


def _distinct(specs: list[dict[str, Any]], field: str) -> str:
    return ", ".join(_word(value) for value in unique(spec[field] for spec in specs))


def train_rows(data: DataSpec, entry: Entry, rows: int | None) -> int | None:
    """Return how many rows train, as far as the catalogue can tell."""
    if data.split == "given":
        rows = entry.files[0].rows if entry.files else None
        return rows if data.train_size is None else _size(data.train_size, rows, math.floor)
    if rows is None:
        return data.train_size if isinstance(data.train_size, int) else None
    if data.train_size is not None:
        return _size(data.train_size, rows, math.floor)
    tested = _size(data.test_size, rows, math.ceil) if data.test_size is not None else None
    return None if tested is None else rows - tested


def _size(size: float, rows: int | None, rounded: Any) -> int | None:
    """Return a size as a count; fractions round as in scikit-learn: train down, test up."""
    if isinstance(size, int):
        return size
    return None if rows is None else int(rounded(size * rows))


def _split(data: DataSpec) -> str:
    if data.split == "given":
        return "given"
    if data.split == "first":
        return "first rows"
    return f"{data.split}, seed {data.split_seed}"


def _steps(members: list[Configuration]) -> str:
    if not members:
        return UNKNOWN
    text = _listed(one.step for one in members)
    return f"{text} (tuned)" if any(one.tuned for one in members) else text


def _scales(members: list[Configuration]) -> str:
    return _listed(one.init_scale for one in members) if members else UNKNOWN


def _listed(numbers: Any) -> str:
    found = sorted(set(numbers))
    if len(found) > MANY:
        return f"{number(found[0])} … {number(found[-1])} ({len(found)} values)"
    return ", ".join(map(number, found))


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _word(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
