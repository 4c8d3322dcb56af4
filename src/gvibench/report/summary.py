"""The sections of a study's summary."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.gaps import gap
from gvibench.analysis.ranking import RULE, TIE, TIE_LEVEL
from gvibench.spec.endings import MEANINGS, STATUSES
from gvibench.tables.formats import Block, escape_markdown, markdown_block, number
from gvibench.tables.performance import NO_STEP, NONE, compact, values_of

__all__ = [
    "CAPTIONS",
    "best_sentences",
    "count",
    "doubt",
    "ending_rows",
    "listed",
    "missing_optima",
    "reference_words",
    "summary",
]

CAPTIONS = {
    "gap": "Objective gap against iterations.",
    "test": "Test NLL gap (sum over the test rows) and test accuracy against iterations.",
    "time": "Objective gap against solver time.",
    "test-time": "Test NLL gap (sum over the test rows) and test accuracy against solver time.",
    "sensitivity": "Final objective gap against the step.",
    "profile": "Share of problems solved within a factor of the best solver's cost.",
    "runtime": "Solver time per iteration against the number of features.",
    "bias": "Distance of the piecewise bound from the exact optimum, and what it costs.",
    "temperature": "Objective gap against iterations, and final test metrics, by temperature.",
    "path": "Means of the iterates of one seed over the contours of the loss.",
    "theory": "Claimed bounds beside what was measured, each run with its own constants.",
}
EXPLAINED = ("stalled", "failed", "diverged")
"""Endings that readers want to know the reasons of."""


def summary(job: Mapping[str, Any], dataset: xr.Dataset, errors: Mapping[str, str]) -> str:
    """Return the summary as Markdown.

    `errors` has a sentence for each figure or table that could not be made, e.g. under
    "figure bias".
    """
    values = values_of(dataset)
    sections = [
        f"# {escape_markdown(dataset.attrs['title'] or job['study'])}",
        _what_was_run(job, dataset),
        _what_failed(errors),
        _how_runs_ended(dataset),
        _who_was_best(values),
        _tuning(values),
        _figures(job["figures"]),
        _tables(job["tables"]),
        _provenance(job, dataset),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _what_was_run(job: Mapping[str, Any], dataset: xr.Dataset) -> str:
    configs = configurations(dataset)
    problems = unique(config.panel for config in configs)
    lines = unique(config.line for config in configs)
    seeds = unique(dataset["seed"].values.tolist())
    counts = [
        count(dataset.sizes["run"], "run"),
        count(len(problems), "problem"),
        count(len(unique(config.solver for config in configs)), "solver"),
        count(len(configs), "configuration"),
        count(len(seeds), "seed"),
    ]
    text = [
        f"Study `{job['study']}`: {', '.join(counts)}.",
        "",
        f"- Problems: {escape_markdown(listed(problems))}",
        f"- Solvers: {escape_markdown(listed(lines))}",
        f"- Gaps of the objective are measured from {reference_words(dataset)}; gaps of test "
        "metrics are measured from the best value seen.",
    ]
    text += [
        f"- No optimum for {escape_markdown(problem)}: {escape_markdown(reason)}"
        for problem, reason in missing_optima(dataset).items()
    ]
    if sentence := doubt(dataset):
        text.append(f"- {sentence}")
    return "\n".join(text)


def doubt(dataset: xr.Dataset) -> str:
    """Return a warning if runs got below the optimum, which then is none."""
    below = float(np.nanmin(gap(dataset, "objective").values, initial=0.0))
    if below >= 0:
        return ""
    return f"Some runs got below that optimum, by up to {-below:.2g} nat: do not trust it."


def reference_words(dataset: xr.Dataset) -> str:
    """Return what the gaps of the objective are measured from."""
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
        f"{listed(without)}, where they are measured from the best value seen"
    )


def missing_optima(dataset: xr.Dataset) -> dict[str, str]:
    """Return, by problem, why the optimum that the study asks for could not be found."""
    if "optimum_note" not in dataset:
        return {}
    notes = dataset["optimum_note"].values
    return {
        config.panel: str(notes[config.runs[0]])
        for config in configurations(dataset)
        if notes[config.runs[0]]
    }


def _what_failed(errors: Mapping[str, str]) -> str:
    if not errors:
        return ""
    lines = [f"- {name}: {escape_markdown(sentence)}" for name, sentence in errors.items()]
    return "\n".join(["## What could not be made", "", *lines])


def _how_runs_ended(dataset: xr.Dataset) -> str:
    endings = sum((config.endings for config in configurations(dataset)), Counter())
    lines = [
        f"- {endings[status]} {status}: {MEANINGS[status]}."
        for status in STATUSES
        if endings[status]
    ]
    text = ["## How runs ended", "", *lines]
    if rows := ending_rows(dataset):
        text += ["", markdown_block(Block("", pd.DataFrame(rows), 5)).rstrip()]
    return "\n".join(text)


def ending_rows(dataset: xr.Dataset) -> list[dict[str, str]]:
    """Return a row for each solver and problem whose runs stalled, failed or diverged, with why."""
    groups: dict[tuple[str, str, str], list[Configuration]] = {}
    for config in configurations(dataset):
        for status in EXPLAINED:
            if config.endings[status]:
                groups.setdefault((config.panel, config.line, status), []).append(config)
    status_of, reason_of = dataset["status"].values, dataset["reason"].values
    rows = []
    for (panel, line, status), configs in groups.items():
        runs = [run for config in configs for run in config.runs if status_of[run] == status]
        reasons = Counter(_short_reason(status, str(reason_of[run])) for run in runs)
        rows.append(
            {
                "data set": panel,
                "solver": line,
                "runs": f"{len(runs)} {status}",
                "at steps": ", ".join(map(number, sorted({config.step for config in configs}))),
                "because": "; ".join(f"{why} ({n})" for why, n in reasons.most_common()),
            }
        )
    return rows


def _short_reason(status: str, reason: str) -> str:
    """Return a reason without the numbers that differ from run to run."""
    if status == "stalled":
        return "the objective no longer falls, gradient norm above the tolerance"
    if status == "failed":
        return reason if reason.startswith(NO_STEP) else "ended above the starting objective"
    _, _, why = reason.rpartition(": ")
    return re.sub(r" to [-+.\dein]+$", "", why)


def _who_was_best(values: pd.DataFrame) -> str:
    block = compact(values)
    text = ["## Who was best", "", RULE, "", *(f"- {line}" for line in best_sentences(values))]
    return "\n".join([*text, "", block.caption, "", markdown_block(block).rstrip()])


def best_sentences(values: pd.DataFrame) -> list[str]:
    """Return one sentence per problem: who was best, how good, and who is as good."""
    sentences = []
    for problem, here in values.groupby("problem", sort=False):
        records: list[dict[Any, Any]] = here.to_dict("records")
        best = [row for row in records if row["is_best"]]
        words = _praise(best[0], records) if best else _nobody(records)
        sentences.append(f"{escape_markdown(str(problem))}: {words}")
    return sentences


def _nobody(records: Sequence[Mapping[Any, Any]]) -> str:
    ended = {status: sum(row[status] for row in records) for status in STATUSES}
    counts = ", ".join(f"{number} {status}" for status, number in ended.items() if number)
    return f"nobody, because no run is usable ({counts})."


def _praise(best: Mapping[Any, Any], records: Iterable[Mapping[Any, Any]]) -> str:
    words = [
        f"**{escape_markdown(best['method'])}** (step {number(best['step'])}, "
        f"C0 {number(best['init_scale'])}): final gap {_gap_word(best['gap_median'])}, "
        f"objective {number(best['objective_median'])}, {_reached_words(best)}, "
        f"test NLL {number(best['test_nll_median'])} (sum)"
    ]
    if not isinstance(best["test_accuracy_median"], str):
        words.append(f", accuracy {number(best['test_accuracy_median'], 4)}")
    others = [row for row in records if row["best_of_solver"] and not row["is_best"]]
    if tied := [row["method"] for row in others if row["tied_with_best"]]:
        words.append(f"; tied with {escape_markdown(listed(tied))}")
    close = [
        row["method"] for row in others if row["bands_overlap_best"] and not row["tied_with_best"]
    ]
    if close:
        words.append(
            f"; the ranges of the final gaps overlap with {escape_markdown(listed(close))}"
        )
    return "".join([*words, "."])


def _gap_word(gap_median: float) -> str:
    return f"below {TIE:g} nat" if gap_median < TIE else f"{number(gap_median, 3)} nat"


def _reached_words(best: Mapping[Any, Any]) -> str:
    level, seeds = f"{TIE_LEVEL:g}", best["seeds"]
    settled, first = best[f"reached_settled_{level}"], best[f"reached_first_{level}"]
    if settled:
        of_seeds = "" if settled == seeds else f" with {settled} of {seeds} seeds"
        iterations, seconds = (
            best[f"{kind}_settled_{level}_median"] for kind in ("iterations", "seconds")
        )
        return (
            f"settles at a gap of {level} after {number(iterations, 4)} iterations, "
            f"{number(seconds, 3)} s{of_seeds}"
        )
    if first:
        return f"reaches a gap of {level} with {first} of {seeds} seeds, but does not settle there"
    return f"never reaches a gap of {level}"


def _tuning(values: pd.DataFrame) -> str:
    tuned: list[dict[Any, Any]] = values[values["tuned"].astype(bool)].to_dict("records")
    if not tuned:
        return _notes_without_tuned_steps(values)
    rows = [
        {
            "data set": row["problem"],
            "solver": row["method"],
            "step": number(row["step"]),
            "C0": number(row["init_scale"]),
            "trials": str(row["tuning_trials"]),
            "iterations": str(row["tuning_iterations"]),
            "seconds": number(row["tuning_seconds"], 3),
            "note": row["tuning_note"],
        }
        for row in tuned
    ]
    total = sum(row["tuning_seconds"] for row in tuned)
    text = (
        "## What tuning cost\n\n"
        f"{sum(row['tuning_trials'] for row in tuned)} trials, {number(total, 3)} s of solver "
        "time, which no other number here includes.\n\n"
    )
    return text + markdown_block(Block("", pd.DataFrame(rows), 2)).rstrip()


def _notes_without_tuned_steps(values: pd.DataFrame) -> str:
    """Return what is to be said of tuned betas where no step was tuned."""
    notes = unique(
        f"- {escape_markdown(row['problem'])}: {row['tuning_note']}"
        for row in values.to_dict("records")
        if row["tuning_note"] != NONE
    )
    return "\n".join(["## Tuning", "", *notes]) if notes else ""


def _figures(names: Iterable[str]) -> str:
    sections = []
    for name in names:
        links = ", ".join(f"[{end}](figures/{name}.{end})" for end in ("pdf", "svg", "json"))
        caption = CAPTIONS.get(name, name)
        sections.append(f"![{caption}](figures/{name}.png)\n\n{caption} ({links})")
    return "\n\n".join(["## Figures", *sections]) if sections else ""


def _tables(names: Iterable[str]) -> str:
    lines = [
        f"- {name}: " + ", ".join(f"[{end}](tables/{name}.{end})" for end in ("md", "csv", "tex"))
        for name in names
    ]
    return "\n".join(["## Tables", "", *lines]) if lines else ""


def _provenance(job: Mapping[str, Any], dataset: xr.Dataset) -> str:
    versions = ", ".join(f"{name} {found}" for name, found in dataset.attrs["versions"].items())
    hosts = ", ".join(
        f"{host} ({device})"
        for host, device in unique(
            zip(dataset["host"].values, dataset["device"].values, strict=True)
        )
    )
    alone = bool(dataset["exclusive"].values.all())
    codes: dict[str, list[str]] = {}
    for solver, code in unique(
        zip(dataset["solver"].values, dataset["code_hash"].values, strict=True)
    ):
        codes.setdefault(solver, []).append(f"`{code}`")
    text = [
        "## Where the numbers come from",
        "",
        f"- Versions: {versions}",
        f"- Machines: {hosts}; "
        + ("no other job ran beside a run" if alone else "other jobs may have run beside a run"),
        f"- Code of this summary: `{job['code_hash']}`",
        *(f"- Code of {solver}: {', '.join(found)}" for solver, found in codes.items()),
        "- Specs and their hashes: in the JSON file beside each figure",
    ]
    return "\n".join(text)


def listed(names: Sequence[str]) -> str:
    """Return names as a list; those with a comma in them stand in quotation marks."""
    return ", ".join(f"“{name}”" if ", " in name else name for name in names)


def count(number_of: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{number_of} {noun}" if number_of == 1 else f"{number_of} {noun}s"
