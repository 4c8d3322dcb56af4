"""Reduce the runs of a study to the outcomes from which scores are computed.

An outcome is the cost at which an entry reached a target on an instance. An entry is a solver with
its own settings. An instance is a problem with everything that the study varies besides the
entries: the problem fields, the start and the seed.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from gvibench.analysis.configurations import (
    START,
    Configuration,
    configurations,
    unique,
    with_fields,
)
from gvibench.analysis.costs import COSTS, cost_of
from gvibench.analysis.efforts import lazy_efforts
from gvibench.analysis.gaps import computed, final, gap, has_optimum
from gvibench.analysis.ranking import Ranking
from gvibench.analysis.statuses import short_reason
from gvibench.errors import UserError
from gvibench.spec.scoring import ScoreSettings
from gvibench.spec.starts import INSTANCE_FIELDS, START_FIELDS
from gvibench.spec.statuses import UNUSABLE

__all__ = ["best_configurations", "other_limits", "outcomes_of", "study_outcomes"]

INSTANCE = ("basis_condition", "data.basis_condition", START)
"""Fields of a panel that distinguish instances of one problem."""


@dataclass(frozen=True)
class _Entrant:
    """Configuration with the name of its entry."""

    entry: str
    config: Configuration
    spec: dict[str, Any]


def outcomes_of(
    aggregate: xr.Dataset, targets: Sequence[float], cost: str, budget: float | None
) -> xr.Dataset:
    """Return the outcomes of a study.

    An entry with several step sizes is represented by its best one on each problem (see
    `analysis.ranking`). Starts and changes of the basis define instances, so that one step size
    serves all of them. A run whose step and initial scale were tuned counts for all initial scales
    of its problem. A target costs what had been spent at the first record that reached it. Runs
    that diverged or failed reach no target.

    Parameters
    ----------
    aggregate
        Aggregate of the study. All of its problems must have a known optimum.
    targets
        Objective gaps in nats.
    cost
        Name of a cost in `gvibench.analysis.costs.COSTS`.
    budget
        Largest cost at which a target counts as reached, or None for no limit.

    Returns
    -------
    Dataset with the dimensions `entry`, `instance` and `target`. `cost` and `seconds` are infinite
    if a target was not reached within the budget, and NaN if the entry has no run on the instance.
    `final_gap`, `status` and `reason` describe the end of each run. `tuning_cost` is the cost of
    the tuning trials, zero for runs that are not tuned. The coordinates `problem`, `setting`,
    `basis_condition`, `mean_scale` and `init_scale` describe the instances. The coordinate
    `other_limit` names the limit of an entry if it is not the optimum.
    """
    levels = sorted({float(target) for target in targets}, reverse=True)
    _validate(aggregate, levels, cost)
    entrants = _entrants(configurations(aggregate))
    fields = _start_fields(entrants)
    entries = unique(entrant.entry for entrant in entrants)
    shown = _best(aggregate, entrants)
    placed = _placed(aggregate, shown, fields)
    instances = unique(instance for _, instance, _ in placed)
    row = {entry: k for k, entry in enumerate(entries)}
    column = {instance: k for k, instance in enumerate(instances)}
    index = (
        [row[entry] for entry, _, _ in placed],
        [column[instance] for _, instance, _ in placed],
    )
    runs = np.array([run for _, _, run in placed])
    shape = (len(entries), len(instances))
    values = _values(aggregate, levels, cost, budget)

    def spread(by_run: np.ndarray, missing: Any) -> np.ndarray:
        array = np.full(shape + by_run.shape[1:], missing, dtype=by_run.dtype)
        array[index] = by_run[runs]
        return array

    dims = ("entry", "instance", "target")
    result = xr.Dataset(
        {
            **{name: (dims[: v.ndim + 1], spread(v, np.nan)) for name, v in values.items()},
            **{name: (dims[:2], spread(v, "")) for name, v in _endings(aggregate).items()},
        },
        {
            "entry": np.array(entries, dtype=object),
            "other_limit": ("entry", _limits(aggregate, entrants, entries)),
            "instance": np.array([f"{name}, {setting}" for name, setting in instances], object),
            "target": levels,
            "problem": ("instance", np.array([name for name, _ in instances], dtype=object)),
            "setting": ("instance", np.array([text for _, text in instances], dtype=object)),
            **_starts(shown, placed, instances),
        },
    )
    return result.assign_attrs(cost=cost, budget=budget)


def _limits(
    aggregate: xr.Dataset, entrants: Sequence[_Entrant], entries: Sequence[str]
) -> np.ndarray:
    """Return the limit of each entry if it is not the optimum, else empty text."""
    limits: dict[str, str] = aggregate.attrs.get("other_limits", {})
    found = {each.entry: limits.get(each.config.solver_id, "") for each in entrants}
    return np.array([found[entry] for entry in entries], dtype=object)


def other_limits(outcomes: xr.Dataset) -> str:
    """Return which entries have another limit than the optimum, or empty text."""
    by_limit: dict[str, list[str]] = {}
    for entry, limit in zip(outcomes["entry"].values, outcomes["other_limit"].values, strict=True):
        if limit:
            by_limit.setdefault(str(limit), []).append(str(entry))
    parts = [f"{', '.join(names)} ({limit})" for limit, names in by_limit.items()]
    return f"other limit than the optimum: {'; '.join(parts)}" if parts else ""


def study_outcomes(aggregate: xr.Dataset) -> tuple[xr.Dataset, ScoreSettings]:
    """Return the outcomes of a study with its own targets, cost and budget, and its settings."""
    settings = ScoreSettings.from_dict(aggregate.attrs.get("score", {}))
    cost = cost_of(aggregate).name
    return outcomes_of(aggregate, settings.targets, cost, settings.budget), settings


def best_configurations(aggregate: xr.Dataset) -> list[Configuration]:
    """Return the configurations whose outcomes are used, with their entries as lines."""
    shown = _best(aggregate, _entrants(configurations(aggregate)))
    return [replace(entrant.config, line=entrant.entry) for entrant in shown]


def _validate(aggregate: xr.Dataset, levels: Sequence[float], cost: str) -> None:
    if not levels or not all(np.isfinite(levels)) or min(levels) <= 0:
        raise UserError("the targets of scores must be one or more positive numbers")
    if cost not in COSTS:
        raise UserError(f"unknown cost '{cost}'; available: {', '.join(COSTS)}")
    if COSTS[cost].curve not in aggregate:
        raise UserError(f"the runs of this study have not recorded their {COSTS[cost].noun}")
    if not (known := has_optimum(aggregate)).all():
        name = aggregate["dataset"].values[~known][0]
        raise UserError(
            f"scores need the optimum of all problems, but '{name}' has none: set gap: optimum and "
            "beta above 0, or leave the data set out"
        )


def _entrants(configs: Sequence[Configuration]) -> list[_Entrant]:
    """Return the configurations with the names of their entries.

    A solver that some data sets replace by another one is one entry, with its name in the study.
    """
    titles: dict[str, set[str]] = {}
    for config in configs:
        titles.setdefault(config.solver, set()).add(config.title)
    entrants = []
    for config in configs:
        own = {
            name: value
            for name, value in config.varied.items()
            if name not in config.panel_fields and name not in INSTANCE_FIELDS
        }
        title = config.title if len(titles[config.solver]) == 1 else config.solver
        entrants.append(_Entrant(with_fields(title, own), config, config.spec))
    return entrants


def _start_fields(entrants: Sequence[_Entrant]) -> dict[str, list[str]]:
    """Return, by data set, the method fields that define instances.

    A field with one value per entry is a setting of the solvers. Tuned initial scales do not count.
    """
    seen: dict[tuple[str, str, str], set[Any]] = {}
    for entrant in entrants:
        for name in _own_starts(entrant):
            key = (entrant.config.dataset, entrant.entry, name)
            seen.setdefault(key, set()).add(entrant.spec[name])
    varied = {(name, field) for (name, _, field), values in seen.items() if len(values) > 1}
    names = unique(entrant.config.dataset for entrant in entrants)
    return {name: [field for field in INSTANCE_FIELDS if (name, field) in varied] for name in names}


def _own_starts(entrant: _Entrant) -> list[str]:
    """Return the method fields of the start that the study has set for a configuration."""
    tuned = ("init_scale",) if entrant.config.tuned_scale else ()
    named = START_FIELDS if START in entrant.config.panel_fields else ()
    left_out = (*tuned, *named, *entrant.config.panel_fields)
    return [name for name in INSTANCE_FIELDS if name in entrant.spec and name not in left_out]


def _best(aggregate: xr.Dataset, entrants: Sequence[_Entrant]) -> list[_Entrant]:
    """Return the entrants with the best settings of each entry on each problem."""
    groups: dict[tuple[str, str], dict[str, list[_Entrant]]] = {}
    for entrant in entrants:
        group = (entrant.entry, entrant.config.panel_without(*INSTANCE))
        candidate = _without_instance(entrant)
        groups.setdefault(group, {}).setdefault(candidate, []).append(entrant)
    if all(len(candidates) == 1 for candidates in groups.values()):
        return list(entrants)
    ranking, shown = Ranking.of(aggregate), []
    for candidates in groups.values():
        best = min(candidates.values(), key=lambda parts: ranking.key(_merged(parts)))
        shown += best
    return shown


def _without_instance(entrant: _Entrant) -> str:
    """Return the settings of an entrant without those that define instances or were tuned."""
    spec = {name: value for name, value in entrant.spec.items() if name not in INSTANCE_FIELDS}
    spec["data"] = {k: v for k, v in spec["data"].items() if f"data.{k}" not in INSTANCE}
    if entrant.config.tuned:
        del spec["step"]
    return json.dumps(spec, sort_keys=True)


def _merged(parts: Sequence[_Entrant]) -> Configuration:
    """Return one configuration with the runs of several ones."""
    configs = [part.config for part in parts]
    return replace(
        configs[0],
        runs=np.concatenate([config.runs for config in configs]),
        usable=np.concatenate([config.usable for config in configs]),
        endings=sum((config.endings for config in configs), Counter()),
    )


def _placed(
    aggregate: xr.Dataset, shown: Sequence[_Entrant], fields: dict[str, list[str]]
) -> list[tuple[str, tuple[str, str], int]]:
    """Return entry, instance (problem and setting) and position of each run."""
    seeds = aggregate["seed"].values
    scales: dict[str, list[float]] = {}
    for entrant in shown:
        if not entrant.config.tuned_scale:
            scales.setdefault(entrant.config.dataset, []).append(entrant.spec["init_scale"])
    placed = []
    for entrant in shown:
        config, name = entrant.config, entrant.config.dataset
        values = {field: config.varied[field] for field in config.panel_fields}
        values |= {field: entrant.spec[field] for field in fields[name]}
        variants = [values]
        if config.tuned_scale and "init_scale" in values:
            variants = [values | {"init_scale": scale} for scale in unique(scales[name])]
        for run in config.runs.tolist():
            for variant in variants:
                words = with_fields("", {**variant, "seed": int(seeds[run])})
                placed.append((entrant.entry, (name, words.removeprefix(", ")), run))
    return placed


def _starts(
    shown: Sequence[_Entrant],
    placed: Sequence[tuple[str, tuple[str, str], int]],
    instances: Sequence[tuple[str, str]],
) -> dict[str, tuple[str, list[float]]]:
    """Return the coordinates and the start of each instance as numbers."""
    spec_of = {run: entrant.spec for entrant in shown for run in entrant.config.runs.tolist()}
    first = {instance: spec_of[run] for _, instance, run in reversed(placed)}
    return {
        name: ("instance", [float(first[instance].get(name, np.nan)) for instance in instances])
        for name in INSTANCE_FIELDS
    }


def _values(
    aggregate: xr.Dataset, levels: Sequence[float], cost: str, budget: float | None
) -> dict[str, np.ndarray]:
    """Return the numbers of each run: `cost` and `seconds` (run, target), and `final_gap` (run)."""
    names = unique([cost, "seconds"])
    lazy: dict[str, xr.DataArray] = {}
    for name in names:
        efforts = lazy_efforts(
            aggregate.assign_attrs(cost=name), [("first", level) for level in levels]
        )
        # The cost of the record, as for traces of other libraries, which record less often.
        lazy |= {f"{name} {level}": efforts["first", level]["most"] for level in levels}
    found = computed({"final_gap": final(gap(aggregate, "objective")), **lazy})
    curves = {
        name: np.stack([found[f"{name} {level}"] for level in levels], axis=1) for name in names
    }
    limit = np.inf if budget is None else budget
    reached = curves[cost] <= limit  # False for NaN
    return {
        "cost": np.where(reached, curves[cost], np.inf),
        "seconds": np.where(reached, curves["seconds"], np.inf),
        "final_gap": found["final_gap"],
        "tuning_cost": _tuning_cost(aggregate, cost),
    }


def _tuning_cost(aggregate: xr.Dataset, cost: str) -> np.ndarray:
    """Return the cost of the tuning trials of each run.

    An iteration of a trial counts like an iteration of the run.
    """
    if cost == "seconds":
        return np.asarray(aggregate["tuning_seconds"].values, dtype=float)
    curves = {"cost": aggregate[COSTS[cost].curve], "iterations": aggregate["iteration"]}
    last = computed({name: final(curve) for name, curve in curves.items()})
    trials = aggregate["tuning_iterations"].values.astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = trials * last["cost"] / last["iterations"]
    # A run that ends at its start does not show what an iteration costs.
    return np.where(trials == 0, 0.0, np.where(np.isfinite(total), total, np.nan))


def _endings(aggregate: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the status of each run, and the reason of those that diverged or failed."""
    statuses = aggregate["status"].values.astype(str).tolist()
    reasons = aggregate["reason"].values.astype(str).tolist()
    short = [
        short_reason(status, reason) if status in UNUSABLE else ""
        for status, reason in zip(statuses, reasons, strict=True)
    ]
    return {"status": np.array(statuses, dtype=object), "reason": np.array(short, dtype=object)}
