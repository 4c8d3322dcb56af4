"""How every solver did: where it ended, how fast it was, how far behind the best."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis import (
    TIE,
    Configuration,
    Ranking,
    configurations,
    final,
    gap,
    iterations_to,
    seconds_to,
)
from gvibench.tables.formats import Block, Table, number, spread

__all__ = ["DIVERGED", "LEVELS", "NEVER", "UNDEFINED", "build", "values_of"]

LEVELS = (1e-2, 1e-4, 1e-6)
"""Objective gaps, in nats, to which efforts are counted."""
DIVERGED = "diverged"
"""In place of a number: no seed completed."""
NEVER = "never"
"""In place of a number: no seed got there."""
UNDEFINED = "undefined"
"""In place of a number: the problem has no such quantity."""
ALONE = "no common seed"
"""In place of a number: no seed completed here and with the best solver."""
STATISTICS = ("mean", "min", "max")

METRICS = {
    "objective": "objective",
    "neg_elbo": "negative ELBO",
    "train_elbo_paper": "train ELBO (paper)",
    "test_nll": "test NLL (sum, under q)",
    "test_nll_at_mean": "test NLL (average, at the mean)",
    "test_accuracy": "test accuracy",
    "gap": "objective gap",
    "seconds": "seconds",
}
"""Final values, with their names for readers."""
DIGITS = {"test_accuracy": 4, "gap": 3, "seconds": 3}


def build(dataset: xr.Dataset) -> Table:
    """Return the table: a row for every configuration, statistics over its seeds."""
    values = values_of(dataset)
    return Table(values, [_endings(values), _efforts(values), _comparison(values)])


def values_of(dataset: xr.Dataset) -> pd.DataFrame:
    """Return a row for every configuration, every number in a column of its own."""
    every = configurations(dataset)
    ranking = Ranking.of(dataset)
    best = ranking.best(every, lambda one: one.problem)
    of_line = set(map(id, ranking.best_lines(every)))
    seeds = np.asarray(dataset["seed"].values)
    finals = {name: final(dataset[name].values) for name in METRICS if name != "gap"}
    finals["gap"] = final(gap(dataset, "objective").values)
    efforts = {
        f"{kind}_to_{level:g}": np.asarray(count(dataset, level).values)
        for kind, count in (("iterations", iterations_to), ("seconds", seconds_to))
        for level in LEVELS
    }
    rows = []
    for one in every:
        row: dict[str, Any] = {
            "dataset": one.dataset,
            "problem": one.panel,
            "solver": one.solver,
            "method": one.line,
            "solver_id": one.solver_id,
            **{field: str(value) for field, value in one.varied.items()},
            "step": one.step,
            "init_scale": one.init_scale,
            "tuned": one.tuned,
            "best_of_solver": id(one) in of_line,
            "seeds": len(one.runs),
            "diverged": one.diverged,
        }
        for name, of_runs in finals.items():
            row |= _statistics(name, of_runs[one.completed], len(one.completed), UNDEFINED)
        for name, of_runs in efforts.items():
            row |= _statistics(name, of_runs[one.completed], len(one.completed), NEVER)
            row[f"{name}_reached"] = int(np.isfinite(of_runs[one.runs]).sum())
        row |= _against(one, best[one.problem], finals["objective"], seeds)
        for name in ("tuning_trials", "tuning_iterations", "tuning_seconds"):
            row[name] = dataset[name].values[one.runs[0]].item()
        rows.append(row)
    # Fields that vary on some data sets only are constant, and not named, on the others.
    return pd.DataFrame(rows).astype(object).fillna("")


def _statistics(name: str, values: np.ndarray, completed: int, nothing: str) -> dict[str, Any]:
    """Return the columns of one quantity, over the seeds that have it."""
    known = values[np.isfinite(values)]
    if completed == 0 or len(known) == 0:
        mark = DIVERGED if completed == 0 else nothing
        return {f"{name}_{statistic}": mark for statistic in STATISTICS}
    found = (known.mean(), known.min(), known.max())
    return {f"{name}_{key}": float(value) for key, value in zip(STATISTICS, found, strict=True)}


def _against(
    one: Configuration, best: Configuration, objective: np.ndarray, seeds: np.ndarray
) -> dict[str, Any]:
    """Compare final objectives with the best configuration of the problem, seed by seed."""
    ours = {seeds[run]: objective[run] for run in one.completed}
    theirs = {seeds[run]: objective[run] for run in best.completed}
    common = [seed for seed in ours if seed in theirs]
    pairs = np.array([ours[seed] - theirs[seed] for seed in common])
    overlap = bool(ours and theirs) and (
        min(ours.values()) <= max(theirs.values()) + TIE
        and min(theirs.values()) <= max(ours.values()) + TIE
    )
    return {
        "best": f"{best.line}, step {best.step:g}, init_scale {best.init_scale:g}",
        "is_best": one is best and bool(ours),
        **_statistics("difference_to_best", pairs, len(ours), ALONE),
        "bands_overlap_best": overlap,
    }


# What readers are shown


def _key(values: pd.DataFrame) -> dict[str, list[str]]:
    steps = [number(row.step) + (" (tuned)" if row.tuned else "") for row in values.itertuples()]
    return {
        "data set": values["problem"].tolist(),
        "solver": values["method"].tolist(),
        "step": steps,
        "C0": [number(scale) for scale in values["init_scale"]],
    }


def _endings(values: pd.DataFrame) -> Block:
    cells = _key(values)
    cells["diverged"] = [f"{row.diverged}/{row.seeds}" for row in values.itertuples()]
    for name, title in METRICS.items():
        if name not in {"gap", "seconds"}:
            cells[title] = [_cell(row, name) for row in _records(values)]
    caption = (
        "Final values: mean [min, max] over the seeds that did not diverge. Objectives and "
        "negative log-likelihoods in nats; the paper's train ELBO leaves out the trace term."
    )
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _efforts(values: pd.DataFrame) -> Block:
    cells = _key(values)
    cells["seconds in all"] = [_cell(row, "seconds") for row in _records(values)]
    for kind in ("iterations", "seconds"):
        for level in LEVELS:
            name = f"{kind}_to_{level:g}"
            cells[f"{kind} to {level:g}"] = [_reached(row, name) for row in _records(values)]
    caption = (
        "Effort until the objective gap is at most a level in nats, mean [min, max]: over the "
        "seeds that got there, whose count is given where it is not all of them."
    )
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _comparison(values: pd.DataFrame) -> Block:
    cells = _key(values)
    records = _records(values)
    cells["objective gap"] = [_cell(row, "gap") for row in records]
    cells["behind the best"] = [
        "best" if row["is_best"] else _cell(row, "difference_to_best", digits=3) for row in records
    ]
    cells["bands overlap"] = ["yes" if row["bands_overlap_best"] else "no" for row in records]
    caption = (
        "Final objective gap, and the difference to the best configuration on the same problem, "
        "seed by seed: mean [min, max] in nats. Bands from minimum to maximum that overlap with "
        "that of the best are marked: such a difference may be due to the seeds."
    )
    if values["tuned"].any():
        cells["tuning trials"] = [number(row["tuning_trials"]) for row in records]
        cells["tuning iterations"] = [number(row["tuning_iterations"], 9) for row in records]
        cells["tuning seconds"] = [number(row["tuning_seconds"], 3) for row in records]
        caption += " Tuning: what the choice of step and C0 cost."
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _records(values: pd.DataFrame) -> Sequence[dict[Any, Any]]:
    return values.to_dict("records")


def _cell(row: dict[Any, Any], name: str, digits: int | None = None) -> str:
    found = [row[f"{name}_{statistic}"] for statistic in STATISTICS]
    if isinstance(found[0], str):
        return found[0]
    return spread(*found, digits=digits or DIGITS.get(name, 6))


def _reached(row: dict[Any, Any], name: str) -> str:
    text = _cell(row, name, digits=4)
    count, seeds = row[f"{name}_reached"], row["seeds"]
    return text if count in {0, seeds} else f"{text} ({count}/{seeds})"
