"""Build the table of performance: final values, efforts, and differences to the best."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import Configuration, configurations
from gvibench.analysis.costs import COSTS, cost_of
from gvibench.analysis.efforts import LEVELS, Effort, Target, lazy_efforts
from gvibench.analysis.gaps import computed, final, gap, measured
from gvibench.analysis.ranking import TIE_LEVEL, Ranking, rule_of
from gvibench.analysis.statistics import STATISTICS, seed_statistics
from gvibench.analysis.statuses import NO_STEP
from gvibench.spec.statuses import STATUSES, UNUSABLE
from gvibench.tables.cells import cell_text, ended, reached_text
from gvibench.tables.formats import Block, Table, number, step_text, with_full_cells

__all__ = [
    *("NEVER", "NONE", "REACHED_COUNT", "UNDEFINED"),
    *("build", "compact", "values_of"),
]

NEVER = "never"
"""Text in place of a number if no seed reached the level."""
UNDEFINED = "undefined"
"""Text in place of a number if the problem does not have this quantity."""
NONE = "–"
"""Text of an empty cell."""
NO_COMMON_SEED = "no common seed"
"""Text in place of a number if no seed is usable here and in the best configuration."""
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
"""Final values and their names for readers."""
KINDS: tuple[Literal["first", "settled"], ...] = ("first", "settled")
TUNING = ("tuning_trials", "tuning_iterations", "tuning_seconds", "tuning_note")
SHOWN = "median [min, max] over the seeds that neither diverged nor failed"
BEHIND = "behind the best, seed by seed"
PAIRED = (
    "Behind the best: the final objective minus the one of the best configuration with the same "
    "seed, in nats. A difference in (brackets) may be due to the seeds, because the ranges of the "
    "final gaps overlap."
)
REACHED = (
    "First reached: the gap is at most the level for the first time. Settled: from there on, the "
    "gap stays at most the level. Between two records the gap is assumed to decay exponentially."
)
REACHED_COUNT = "(4/5): only 4 of 5 seeds reached the level, and the numbers are those of the 4."

Records = Sequence[dict[Any, Any]]


def build(dataset: xr.Dataset) -> Table:
    """Return a table with a row for each configuration and statistics over its seeds."""
    values = values_of(dataset)
    records = values.to_dict("records")
    blocks = (_endings, _efforts, partial(_comparison, rule=rule_of(dataset)))
    return Table(values, [with_full_cells(partial(block, records)) for block in blocks])


def values_of(dataset: xr.Dataset) -> pd.DataFrame:
    """Return the values of the table, one row per configuration and one number per column."""
    configs = configurations(dataset)
    values, efforts = _run_values(dataset)
    cost = cost_of(dataset).name
    settled = efforts["settled", TIE_LEVEL].cost(cost)
    ranking = Ranking.from_values(dataset, values["gap"], settled)
    best = ranking.best(configs, lambda config: config.problem)
    best_lines = set(map(id, ranking.best_lines(configs)))
    seeds = np.asarray(dataset["seed"].values)
    quantities: dict[str, np.ndarray] = {
        **values,
        **{
            f"{name}_{_suffix(target)}": array
            for target, effort in efforts.items()
            for name, array in effort._asdict().items()
        },
    }
    statistics = seed_statistics(configs, quantities)
    tuning = {name: dataset[name].values for name in TUNING}
    rows = []
    for k, config in enumerate(configs):
        note = str(tuning["tuning_note"][config.runs[0]])
        placeholder = _placeholder(config, note)
        row: dict[str, Any] = {
            **_identity(config),
            "cost": cost,
            "best_of_solver": id(config) in best_lines,
            "seeds": len(config.runs),
            **{status: config.endings[status] for status in STATUSES},
            "solved": int(ranking.solved[config.runs].sum()),
        }
        for name in METRICS:
            row |= _statistics(name, statistics[name], k, placeholder or UNDEFINED)
        for target, effort in efforts.items():
            reached = int(np.isfinite(effort.iterations[config.runs]).sum())
            row[f"reached_{_suffix(target)}"] = reached
            row |= _effort_columns(statistics, target, k, placeholder or NEVER, cost)
        row |= _compare_with_best(
            config, best[config.problem], ranking, values["objective"], seeds, placeholder
        )
        for name in TUNING[:-1]:
            row[name] = tuning[name][config.runs[0]].item()
        row["tuning_note"] = note or NONE
        rows.append(row)
    # A field that varies only on some data sets has no value on the others.
    return pd.DataFrame(rows).astype(object).fillna("")


def _run_values(dataset: xr.Dataset) -> tuple[dict[str, np.ndarray], dict[Target, Effort]]:
    """Return the final values of each run by name, and its efforts. All curves are read once."""
    lazy = {name: final(measured(dataset, name)) for name in METRICS if name != "gap"}
    lazy["gap"] = final(gap(dataset, "objective"))
    targets = [(kind, level) for kind in KINDS for level in LEVELS]
    fields = lazy_efforts(dataset, targets)
    for target, arrays in fields.items():
        lazy |= {f"{_suffix(target)} {name}": array for name, array in arrays.items()}
    values = computed(lazy)
    efforts = {
        target: Effort(*(values.pop(f"{_suffix(target)} {name}") for name in Effort._fields))
        for target in fields
    }
    return values, efforts


def _suffix(target: Target) -> str:
    kind, level = target
    return f"{kind}_{level:g}"


def _identity(config: Configuration) -> dict[str, Any]:
    return {
        "dataset": config.dataset,
        "problem": config.panel,
        "solver": config.solver,
        "method": config.line,
        "solver_id": config.solver_id,
        **{field: str(value) for field, value in config.varied.items()},
        "step": config.step_size,
        "step_rule": config.step_rule,
        "init_scale": config.init_scale,
        "tuned": config.tuned,
    }


def _placeholder(config: Configuration, tuning_note: str) -> str:
    """Return the text in place of numbers for a configuration without usable seeds, else ""."""
    if len(config.usable):
        return ""
    if NO_STEP in tuning_note:
        return NO_STEP
    return " or ".join(status for status in UNUSABLE if config.endings[status])


def _statistics(
    name: str, statistics: Mapping[str, np.ndarray], position: int, placeholder: str
) -> dict[str, Any]:
    """Return the columns of a quantity over the seeds that have it."""
    numbers = {key: float(array[position]) for key, array in statistics.items()}
    return {
        f"{name}_{key}": placeholder if np.isnan(value) else value for key, value in numbers.items()
    }


def _effort_columns(
    statistics: Mapping[str, Mapping[str, np.ndarray]],
    target: Target,
    position: int,
    placeholder: str,
    cost: str,
) -> dict[str, Any]:
    """Return the columns of the effort to reach a level, over the seeds that reached it."""
    suffix = _suffix(target)
    columns: dict[str, Any] = {}
    for name in COSTS:
        quantity = f"{name}_{suffix}"
        columns |= _statistics(quantity, statistics[quantity], position, placeholder)
    # Limits of the effort that follow from the recording schedule.
    for name in ("least", "most"):
        value = float(statistics[f"{name}_{suffix}"]["median"][position])
        columns[f"{cost}_{suffix}_at_{name}"] = placeholder if np.isnan(value) else value
    return columns


def _compare_with_best(
    config: Configuration,
    best: Configuration,
    ranking: Ranking,
    objective: np.ndarray,
    seeds: np.ndarray,
    placeholder: str,
) -> dict[str, Any]:
    """Compare final objectives with the best configuration of the problem, seed by seed.

    `objective` contains the values by which runs of the same problem are compared.
    """
    ours = {seeds[run]: objective[run] for run in config.usable}
    theirs = {seeds[run]: objective[run] for run in best.usable}
    pairs = np.array([ours[seed] - theirs[seed] for seed in ours if seed in theirs])
    has_best = bool(len(best.usable))
    tied = has_best and ranking.merit(config) == ranking.merit(best)
    return {
        "best": f"{best.line}, step {step_text(best.step_size, best.step_rule)}, "
        f"init_scale {best.init_scale:g}"
        if has_best
        else NONE,
        "is_best": config is best and has_best,
        "tied_with_best": tied and config is not best,
        **_statistics("difference_to_best", _reduced(pairs), 0, placeholder or NO_COMMON_SEED),
        "bands_overlap_best": ranking.overlap(config, best),
        "both_gaps_zero": ranking.median_gap(config) == ranking.median_gap(best) == 0,
        "solves_fewer_seeds": ranking.merit(config)[0] > ranking.merit(best)[0],
    }


def _reduced(values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the statistics of an array as arrays of length one."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return dict.fromkeys(STATISTICS, np.array([np.nan]))
    return {name: np.array([getattr(np, name)(known)]) for name in STATISTICS}


# Presentation for readers


def _key(records: Records) -> dict[str, list[str]]:
    return {
        "data set": [row["problem"] for row in records],
        "solver": [row["method"] for row in records],
        "step": [
            step_text(row["step"], row["step_rule"]) + " (tuned)" * row["tuned"] for row in records
        ],
        "C0": [number(row["init_scale"]) for row in records],
        "ended": [ended(row) for row in records],
    }


def _endings(records: Records) -> Block:
    cells = _key(records)
    for name, title in METRICS.items():
        if name not in {"gap", "seconds"}:
            cells[title] = [cell_text(row, name) for row in records]
    caption = (
        f"Final values: {SHOWN}. Objectives and negative log-likelihoods in nats, with exact "
        "expectations where objective_exact is recorded. The paper's train ELBO omits the trace "
        "term."
    )
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _efforts(records: Records) -> Block:
    cells = _key(records)
    cells["seconds in all"] = [cell_text(row, "seconds") for row in records]
    for level in LEVELS:
        for title, name in _effort_titles(level, records[0]["cost"]).items():
            cells[title] = [reached_text(row, name) for row in records]
    caption = (
        "Effort until the objective gap is at most a level in nats: median [min, max] over the "
        f"seeds that reached it. {REACHED_COUNT} {REACHED}"
    )
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _effort_titles(level: float, cost: str) -> dict[str, str]:
    noun = COSTS[cost].noun
    return {
        f"{noun}, {level:g} first reached": f"{cost}_first_{level:g}",
        f"{noun}, {level:g} settled": f"{cost}_settled_{level:g}",
        f"seconds, {level:g} settled": f"seconds_settled_{level:g}",
    }


def _comparison(records: Records, rule: str) -> Block:
    cells = _key(records)
    cells["objective gap"] = [cell_text(row, "gap") for row in records]
    cells[BEHIND] = [_behind(row) for row in records]
    caption = (
        "Final objective gap, and the difference to the best configuration on the same problem: "
        f"median [min, max]. {rule} {PAIRED} A negative difference belongs to a configuration "
        "with a lower objective that solves fewer seeds, or more of whose seeds diverged or "
        "failed."
    )
    if any(row["tuned"] for row in records):
        cells["tuning trials"] = [str(row["tuning_trials"]) for row in records]
        cells["tuning iterations"] = [str(row["tuning_iterations"]) for row in records]
        cells["tuning seconds"] = [number(row["tuning_seconds"], 3) for row in records]
        caption += " Tuning columns: cost of choosing the step and C0."
    if any(row["tuning_note"] != NONE for row in records):
        cells["tuning notes"] = [row["tuning_note"] for row in records]
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def compact(values: pd.DataFrame) -> Block:
    """Return a block that fits on a screen, with each solver at its best configuration."""
    records = [row for row in values.to_dict("records") if row["best_of_solver"]]
    cells = _key(records)
    cells["objective gap"] = [cell_text(row, "gap") for row in records]
    cells[BEHIND] = [_behind(row) for row in records]
    for title, name in _effort_titles(TIE_LEVEL, records[0]["cost"]).items():
        cells[title] = [reached_text(row, name) for row in records]
    for name in ("test_nll", "test_accuracy"):
        cells[METRICS[name]] = [cell_text(row, name) for row in records]
    caption = (
        f"Each solver at its best step and initial scale C0: {SHOWN}. {PAIRED} {REACHED} "
        f"{REACHED_COUNT} Test NLL: expected negative log-likelihood of the test rows under the "
        "fitted Gaussian q, in nats."
    )
    return Block(caption, pd.DataFrame(cells), text_columns=2)


def _behind(row: dict[Any, Any]) -> str:
    if row["is_best"]:
        return "best"
    if row["tied_with_best"]:
        return "tied"
    text = cell_text(row, "difference_to_best")
    may_be_due_to_seeds = row["bands_overlap_best"] and not row["both_gaps_zero"]
    return f"({text})" if may_be_due_to_seeds else text
