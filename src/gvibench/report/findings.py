"""State the results of a study in words, for the summary and for the report page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.costs import COSTS
from gvibench.analysis.gaps import gap
from gvibench.analysis.ranking import TIE, TIE_LEVEL
from gvibench.analysis.statuses import short_reason
from gvibench.spec.statuses import STATUSES, UNUSABLE
from gvibench.tables.formats import escape_markdown, number, step_text

__all__ = [
    "CAPTIONS",
    "best_sentences",
    "ending_rows",
    "join_names",
    "missing_optima",
    "optimum_warning",
    "quoted",
    "reference_description",
]

CAPTIONS = {
    "gap": "Objective gap against the cost of the solvers.",
    "test": "Test NLL (sum over the test rows) and test accuracy against the cost of the solvers.",
    "time": "Objective gap against solver time.",
    "test-time": "Test NLL (sum over the test rows) and test accuracy against solver time.",
    "sensitivity": "Final objective gap against the step.",
    "heatmap": "Final objective gap by step and initial scale.",
    "profile": "Share of problems solved within a factor of the best solver's cost.",
    "ecdf": "Share of targets reached within a cost and within a solver time.",
    "runtime": "Solver time per iteration against the number of features.",
    "bias": "Distance of the piecewise bound from the exact optimum, and its cost.",
    "temperature": "Objective gap against iterations, and final test metrics, by temperature.",
    "path": "Means of the iterates of one seed over the contours of the loss.",
    "calibration": "Observed share of the class +1 against its predicted probability.",
    "score-ecdf": "Share of all targets reached against cost and solver time, with scores.",
    "score-intervals": "Scores with 95% intervals. Brackets join solvers that are not separable.",
    "score-profile": "Share of instances solved within a factor of the lowest cost, by target.",
    "score-heatmap": "Cost to a headline target by problem and solver.",
    "theory": "Theoretical bounds and measured values, with the constants of each run.",
}
"""Captions of the built-in figures."""
EXPLAINED = ("stalled", "failed", "diverged")
"""Endings whose reasons are listed."""


def optimum_warning(dataset: xr.Dataset) -> str:
    """Return a warning if a run got below the optimum, and else an empty string."""
    lowest = gap(dataset, "objective").min("record").values
    below = float(np.nanmin(lowest, initial=0.0))
    if below >= 0:
        return ""
    return f"Some runs got below the optimum by up to {-below:.2g} nat: do not trust it."


def reference_description(dataset: xr.Dataset) -> str:
    """Return a phrase that describes the reference of the objective gaps."""
    known = np.isfinite(dataset["optimum_objective"].values)
    if dataset.attrs["gap"] != "optimum" or not known.any():
        return "the best value seen on the same problem"
    if known.all():
        return "the optimum, which was computed independently of the solvers"
    without = unique(
        config.panel for config in configurations(dataset) if not known[config.runs[0]]
    )
    return (
        "the optimum, which was computed independently of the solvers, except on "
        f"{join_names(without)}, where they are measured from the best value seen"
    )


def missing_optima(dataset: xr.Dataset) -> dict[str, str]:
    """Return the reason why no optimum was found, for each problem without one."""
    if "optimum_note" not in dataset:
        return {}
    notes = dataset["optimum_note"].values
    return {
        config.panel: str(notes[config.runs[0]])
        for config in configurations(dataset)
        if notes[config.runs[0]]
    }


def ending_rows(dataset: xr.Dataset) -> list[dict[str, str]]:
    """Return a row for each solver and problem with runs that stalled, failed or diverged."""
    groups: dict[tuple[str, str, str], list[Configuration]] = {}
    for config in configurations(dataset):
        for status in EXPLAINED:
            if config.endings[status]:
                groups.setdefault((config.panel, config.line, status), []).append(config)
    status_of, reason_of = dataset["status"].values, dataset["reason"].values
    rows = []
    for (panel, line, status), configs in groups.items():
        runs = [run for config in configs for run in config.runs if status_of[run] == status]
        reasons = Counter(short_reason(status, str(reason_of[run])) for run in runs)
        rows.append(
            {
                "data set": panel,
                "solver": line,
                "runs": f"{len(runs)} {status}",
                "at steps": ", ".join(_step_texts(configs)),
                "because": "; ".join(f"{reason} ({n})" for reason, n in reasons.most_common()),
            }
        )
    return rows


def _step_texts(configs: Iterable[Configuration]) -> list[str]:
    """Return the steps of configurations for readers, without duplicates."""
    ordered = sorted(configs, key=lambda config: config.step)
    return unique(step_text(config.step_size, config.step_rule) for config in ordered)


def best_sentences(values: pd.DataFrame) -> list[str]:
    """Return one sentence per problem that names the best solver, its results and any ties."""
    sentences = []
    for problem, here in values.groupby("problem", sort=False):
        records: list[dict[Any, Any]] = here.to_dict("records")
        best = [row for row in records if row["is_best"]]
        text = _best_result(best[0], records) if best else _no_usable_run(records)
        sentences.append(f"{escape_markdown(str(problem))}: {text}")
    return sentences


def _no_usable_run(records: Sequence[Mapping[Any, Any]]) -> str:
    ended = {status: sum(row[status] for row in records) for status in STATUSES}
    counts = ", ".join(f"{number} {status}" for status, number in ended.items() if number)
    return f"no run is usable ({counts})."


def _best_result(best: Mapping[Any, Any], records: Iterable[Mapping[Any, Any]]) -> str:
    step = step_text(best["step"], best["step_rule"])
    words = [
        f"**{escape_markdown(best['method'])}** (step {step}, "
        f"C0 {number(best['init_scale'])}): final gap {_gap_text(best['gap_median'])}, "
        f"objective {number(best['objective_median'])}, {_effort_text(best)}"
    ]
    if not isinstance(best["test_nll_median"], str):  # it is undefined without test rows
        words.append(f", test NLL {number(best['test_nll_median'])} (sum)")
    if not isinstance(best["test_accuracy_median"], str):
        words.append(f", accuracy {number(best['test_accuracy_median'], 4)}")
    others = [row for row in records if row["best_of_solver"] and not row["is_best"]]
    if tied := [row["method"] for row in others if row["tied_with_best"]]:
        words.append(f"; tied with {escape_markdown(join_names(tied))}")
    others = [row for row in others if not row["tied_with_best"] and not row["solves_fewer_seeds"]]
    if equal := [row["method"] for row in others if row["both_gaps_zero"]]:
        words.append(f"; the final gap of {escape_markdown(join_names(equal))} is 0, too")
    close = [
        row["method"] for row in others if row["bands_overlap_best"] and not row["both_gaps_zero"]
    ]
    if close:
        words.append(
            f"; the ranges of the final gaps overlap with {escape_markdown(join_names(close))}"
        )
    return "".join([*words, "."])


def _gap_text(gap: float) -> str:
    return f"{number(0.0 if gap < TIE else gap, 3)} nat"


def _effort_text(best: Mapping[Any, Any]) -> str:
    level, seeds = f"{TIE_LEVEL:g}", best["seeds"]
    settled, first = best[f"reached_settled_{level}"], best[f"reached_first_{level}"]
    if settled:
        cost, seconds = (
            best[f"{kind}_settled_{level}_median"] for kind in (best["cost"], "seconds")
        )
        return (
            f"settles at a gap of {level} after {number(cost, 4)} {COSTS[best['cost']].noun} "
            f"({number(seconds, 3)} s){_settled_seeds(best, settled)}"
        )
    if first:
        return f"reaches a gap of {level} with {first} of {seeds} seeds, but does not settle there"
    return f"never reaches a gap of {level}"


def _settled_seeds(best: Mapping[Any, Any], settled: int) -> str:
    """Return how many seeds settle and how the others ended, or "" if all seeds settle."""
    seeds = best["seeds"]
    if settled == seeds:
        return ""
    others = [f"{best[status]} {status}" for status in EXPLAINED if best[status]]
    if settled + sum(best[status] for status in UNUSABLE) < seeds:
        others.append(f"largest final gap {_gap_text(best['gap_max'])}")
    return f" with {settled} of {seeds} seeds ({', '.join(others)})"


def join_names(names: Sequence[str]) -> str:
    """Join names with commas. Names that contain a comma are put in quotation marks."""
    return ", ".join(map(quoted, names))


def quoted(name: str) -> str:
    """Return a name, in quotation marks if it contains a comma."""
    return f"“{name}”" if ", " in name else name
