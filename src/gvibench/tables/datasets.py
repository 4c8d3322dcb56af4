"""Build the table of data sets: rows and features, splits, and settings of each solver."""

import json
import math
from collections.abc import Iterable
from typing import Any

import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import (
    CONFIGURED,
    Configuration,
    configurations,
    unique,
)
from gvibench.spec.run import DataSpec, ProblemSpec
from gvibench.tables.formats import Block, Table, number, step_text

__all__ = ["build"]

UNKNOWN = "–"
MAX_LISTED = 4
"""Maximum number of values listed individually. More values are shown as a range."""


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each problem of the study."""
    configs = configurations(dataset)
    lines = unique(config.line for config in configs)
    facts, steps, scales, others = [], [], [], []
    differing = _differing_settings(dataset, configs)
    for panel in unique(config.panel for config in configs):
        here = [config for config in configs if config.panel == panel]
        specs = [config.spec for config in here]
        sizes = [int(dataset[name].values[here[0].runs[0]]) for name in ("n_train", "n_test", "d")]
        facts.append({"data set": panel, **_facts(_description(dataset, here[0]), specs, *sizes)})
        by_line = {line: [config for config in here if config.line == line] for line in lines}
        steps.append({line: _steps(members) for line, members in by_line.items()})
        scales.append({line: _scales(members) for line, members in by_line.items()})
        others.append(
            {line: _others(dataset, members, differing) for line, members in by_line.items()}
        )
    names = [{"data set": row["data set"]} for row in facts]
    kinds = {"step": steps, "C0": scales} | ({"settings": others} if differing else {})
    values = [
        row
        | {
            f"{kind} of {line}": text
            for kind, cells in kinds.items()
            for line, text in cells[k].items()
        }
        for k, row in enumerate(facts)
    ]
    caption = "Data sets and settings. Rows and features are those used, including an intercept."
    captions = {
        "step": "Steps of each solver.",
        "C0": "Initial scales of each solver: the covariance starts at C0 squared times I.",
        "settings": "Other settings of a solver that differ between data sets.",
    }
    blocks = [Block(caption, pd.DataFrame(facts), text_columns=7)]
    for kind, cells in kinds.items():
        rows = [name | texts for name, texts in zip(names, cells, strict=True)]
        blocks.append(Block(captions[kind], pd.DataFrame(rows)))
    return Table(pd.DataFrame(values), blocks)


def _differing_settings(dataset: xr.Dataset, configs: list[Configuration]) -> dict[str, list[str]]:
    """Return, by solver, the settings that differ between data sets and are not in its line."""
    specs: dict[str, list[dict[str, Any]]] = {}
    for config in configs:
        spec = config.spec
        shown = {"data", *ProblemSpec.names(), *CONFIGURED, *config.varied}
        others = {name: value for name, value in spec.items() if name not in shown}
        specs.setdefault(config.solver, []).append(others)
    differing = {
        solver: [
            name for name in members[0] if len({json.dumps(spec.get(name)) for spec in members}) > 1
        ]
        for solver, members in specs.items()
    }
    return {solver: fields for solver, fields in differing.items() if fields}


def _others(
    dataset: xr.Dataset, members: list[Configuration], differing: dict[str, list[str]]
) -> str:
    """Return the settings of a solver on one data set that differ between data sets."""
    if not members:
        return UNKNOWN
    spec = members[0].spec
    words = [f"{name} {spec[name]}" for name in differing.get(members[0].solver, [])]
    return ", ".join(words) or UNKNOWN


def _description(dataset: xr.Dataset, config: Configuration) -> str:
    titles: dict[str, str] = dataset.attrs.get("dataset_titles", {})
    return titles.get(config.dataset, config.dataset)


def _facts(
    description: str, specs: list[dict[str, Any]], n_train: int, n_test: int, d: int
) -> dict[str, str]:
    data = DataSpec.from_dict(specs[0]["data"])
    return {
        "description": description,
        "split": _split(data),
        "scale": data.scale,
        "model": _distinct(specs, "model"),
        "sigma": _distinct(specs, "sigma") if specs[0]["model"] == "linear" else UNKNOWN,
        "expectation": _distinct(specs, "expectation"),
        "training rows": str(n_train),
        "test rows": str(n_test),
        "features": str(d),
        "beta": ", ".join(unique(map(_prior, specs))),
        "gamma": _distinct(specs, "gamma"),
        "iterations": _distinct(specs, "iterations"),
    }


def _distinct(specs: list[dict[str, Any]], field: str) -> str:
    return ", ".join(_word(value) for value in unique(spec[field] for spec in specs))


def _prior(spec: dict[str, Any]) -> str:
    """Return beta, with the settings of a prior that differs from N(0, I / beta)."""
    beta, settings = _word(spec["beta"]), spec.get("prior")
    if settings is None:
        return beta
    parts = [(name, settings[name]) for name in ("mean", "precision") if settings[name]]
    words = [f"prior {name} {_by_name(value)}" for name, value in parts]
    return f"{beta} ({'; '.join(words)})"


def _by_name(value: Any) -> str:
    if isinstance(value, dict) and len(value) <= MAX_LISTED:
        return ", ".join(f"{name}: {number(inner)}" for name, inner in value.items())
    return "by feature" if isinstance(value, dict | list) else number(value)


def _split(data: DataSpec) -> str:
    if data.split in {"given", "none"}:
        return data.split
    if data.split == "first":
        return "first rows"
    return f"{data.split}, seed {data.split_seed}"


def _steps(members: list[Configuration]) -> str:
    if not members:
        return UNKNOWN
    sizes = [config.step_size for config in members if not math.isnan(config.step_size)]
    rules = {config.step_rule for config in members if math.isnan(config.step_size)}
    words = [step_text(math.nan, rule) for rule in sorted(rules)]
    text = ", ".join([*([_listed(sizes)] if sizes else []), *words])
    return f"{text} (tuned)" if any(config.tuned for config in members) else text


def _scales(members: list[Configuration]) -> str:
    return _listed(config.init_scale for config in members) if members else UNKNOWN


def _listed(numbers: Iterable[float]) -> str:
    values = sorted(set(numbers))
    if len(values) > MAX_LISTED:
        return f"{number(values[0])} … {number(values[-1])} ({len(values)} values)"
    return ", ".join(map(number, values))


def _word(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)
