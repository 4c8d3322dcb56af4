"""How every solver did: where it ended, how fast it was, how far behind the best."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis import (
    TIE,
    TIE_LEVEL,
    Configuration,
    Ranking,
    configurations,
    final,
    gap,
    iterations_to,
    seconds_to,
)
from gvibench.tables.formats import Block, Table, number, spread

__all__ = ["DIVERGED", "LEVELS", "NEVER", "UNDEFINED", "build", "compact", "values_of"]

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
DIGITS = {"test_accuracy": 4, "gap": 3, "difference": 3, "seconds": 3, "iterations": 4}
DECIMALS = 10
"""Readers see gaps and differences rounded to so many decimals: the rest is rounding error."""
OVERLAP = (
    "A difference in (brackets) may be due to the seeds: the bands from minimum to maximum overlap."
)

Records = Sequence[dict[Any, Any]]


def build(dataset: xr.Dataset) -> Table:
    """Return the table: a row for every configuration, statistics over its seeds."""
    values = values_of(dataset)
    records = values.to_dict("records")
    return Table(values, [_endings(records), _efforts(records), _comparison(records)])


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


def _key(records: Records) -> dict[str, list[str]]:
    return {
        "data set": [row["problem"] for row in records],
        "solver": [row["method"] for row in records],
        "step": [number(row["step"]) + " (tuned)" * row["tuned"] for row in records],
        "C0": [number(row["init_scale"]) for row in records],
    }


def _endings(records: Records) -> Block:
    cells = _key(records)
    cells["diverged"] = [f"{row['diverged']}/{row['seeds']}" for row in records]
    for name, title in METRICS.items():
        if name not in {"gap", "seconds"}:
            cells[title] = [_cell(row, name) for row in records]
    caption = (
        "Final values: mean [min, max] over the seeds that did not diverge. Objectives and "
        "negative log-likelihoods in nats; the paper's train ELBO leaves out the trace term."
    )
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _efforts(records: Records) -> Block:
    cells = _key(records)
    cells["seconds in all"] = [_cell(row, "seconds") for row in records]
    for kind in ("iterations", "seconds"):
        for level in LEVELS:
            name = f"{kind}_to_{level:g}"
            cells[name.replace("_", " ")] = [_reached(row, name) for row in records]
    caption = (
        "Effort until the objective gap is at most a level in nats, mean [min, max]: over the "
        "seeds that got there, whose count is given where it is not all of them."
    )
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _comparison(records: Records) -> Block:
    cells = _key(records)
    cells["objective gap"] = [_cell(row, "gap") for row in records]
    cells["behind the best"] = [_behind(row) for row in records]
    caption = (
        "Final objective gap, and the difference to the best configuration on the same problem, "
        f"seed by seed: mean [min, max] in nats. {OVERLAP}"
    )
    if any(row["tuned"] for row in records):
        cells["tuning trials"] = [str(row["tuning_trials"]) for row in records]
        cells["tuning iterations"] = [str(row["tuning_iterations"]) for row in records]
        cells["tuning seconds"] = [number(row["tuning_seconds"], 3) for row in records]
        caption += " Tuning: what the choice of step and C0 cost."
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def compact(values: pd.DataFrame) -> Block:
    """Return the one block that fits on a screen: every solver at its best."""
    records = [row for row in values.to_dict("records") if row["best_of_solver"]]
    cells = _key(records)
    cells["diverged"] = [f"{row['diverged']}/{row['seeds']}" for row in records]
    cells["objective gap"] = [_cell(row, "gap") for row in records]
    cells["behind the best"] = [_behind(row) for row in records]
    for name in (f"iterations_to_{TIE_LEVEL:g}", f"seconds_to_{TIE_LEVEL:g}"):
        cells[name.replace("_", " ")] = [_reached(row, name) for row in records]
    for name in ("test_nll", "test_accuracy"):
        cells[METRICS[name]] = [_cell(row, name) for row in records]
    caption = (
        "Every solver at its best step and initial scale: mean [min, max] over the seeds that did "
        f"not diverge. {OVERLAP}"
    )
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _cell(row: dict[Any, Any], name: str) -> str:
    mean, low, high = (row[f"{name}_{statistic}"] for statistic in STATISTICS)
    if isinstance(mean, str):
        return mean
    if name in {"gap", "difference_to_best"}:
        mean, low, high = (round(value, DECIMALS) + 0.0 for value in (mean, low, high))
    return spread(mean, low, high, DIGITS.get(name.partition("_to_")[0], 6))


def _behind(row: dict[Any, Any]) -> str:
    if row["is_best"]:
        return "best"
    text = _cell(row, "difference_to_best")
    return f"({text})" if row["bands_overlap_best"] else text


def _reached(row: dict[Any, Any], name: str) -> str:
    text = _cell(row, name)
    count, seeds = row[f"{name}_reached"], row["seeds"]
    return text if count in {0, seeds} else f"{text} ({count}/{seeds})"
