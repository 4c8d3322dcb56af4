"""The sections of a study's summary."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis import TIE_LEVEL, Configuration, completed, configurations, gap, unique
from gvibench.tables.formats import Block, escape_markdown, markdown_block, number
from gvibench.tables.performance import compact, values_of

__all__ = ["CAPTIONS", "count", "diverged_rows", "reference_words", "summary"]

CAPTIONS = {
    "gap": "Objective gap against iterations.",
    "test": "Test NLL gap (sum over the test rows) and test accuracy against iterations.",
    "time": "Objective gap against solver time.",
    "test-time": "Test NLL gap (sum over the test rows) and test accuracy against solver time.",
    "sensitivity": "Final objective gap against the step.",
    "profile": "Share of problems solved within a factor of the best solver's cost.",
    "runtime": "Solver time per iteration against the number of features.",
    "bias": "How far the piecewise bound lies above the exact optimum, and what that costs.",
    "temperature": "Objective gap against iterations, and final test metrics, by temperature.",
    "path": "Means of the iterates of one seed over the contours of the loss.",
    "theory": "Claimed bounds beside what was measured, each run with its own constants.",
}


def summary(job: Mapping[str, Any], dataset: xr.Dataset) -> str:
    """Return the summary as Markdown."""
    values = values_of(dataset)
    sections = [
        f"# {escape_markdown(dataset.attrs['title'] or job['study'])}",
        _what_was_run(job, dataset),
        _what_diverged(dataset),
        _who_was_best(values),
        _tuning(values),
        _figures(job["figures"]),
        _tables(job["tables"]),
        _provenance(job, dataset),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _what_was_run(job: Mapping[str, Any], dataset: xr.Dataset) -> str:
    every = configurations(dataset)
    problems = unique(one.panel for one in every)
    lines = unique(one.line for one in every)
    seeds = unique(dataset["seed"].values.tolist())
    counts = [
        count(dataset.sizes["run"], "run"),
        count(len(problems), "problem"),
        count(len(lines), "solver"),
        count(len(every), "configuration"),
        count(len(seeds), "seed"),
    ]
    text = [
        f"Study `{job['study']}`: {', '.join(counts)}.",
        "",
        f"- Problems: {escape_markdown(', '.join(problems))}",
        f"- Solvers: {escape_markdown(', '.join(lines))}",
        f"- Gaps of the objective are measured from {reference_words(dataset)}; those of test "
        "metrics from the best value seen.",
    ]
    below = float(np.nanmin(gap(dataset, "objective").values, initial=0.0))
    if below < 0:
        text.append(
            f"- Some runs got below that optimum, by up to {-below:.2g} nat: do not trust it."
        )
    return "\n".join(text)


def reference_words(dataset: xr.Dataset) -> str:
    """Say what the gaps of the objective are measured from."""
    known = np.isfinite(dataset["optimum_objective"].values)
    if dataset.attrs["gap"] != "optimum" or not known.any():
        return "the best value seen on the same problem"
    if known.all():
        return "the optimum, found beforehand"
    return (
        "the optimum, found beforehand where there is one, else the best value seen on the same "
        "problem"
    )


def _what_diverged(dataset: xr.Dataset) -> str:
    done = completed(dataset)
    text = ["## What diverged", ""]
    if done.all():
        return "\n".join([*text, "No run."])
    text += [f"{count(int((~done).sum()), 'run')} of {len(done)}:", ""]
    rows = pd.DataFrame(diverged_rows(dataset))
    return "\n".join([*text, markdown_block(Block("", rows, 5)).rstrip()])


def diverged_rows(dataset: xr.Dataset) -> list[dict[str, str]]:
    """Return a row for every solver and problem with diverged runs: how many, where and why."""
    done = completed(dataset)
    groups: dict[tuple[str, str], list[Configuration]] = {}
    for one in configurations(dataset):
        groups.setdefault((one.panel, one.line), []).append(one)
    rows = []
    for (panel, line), members in groups.items():
        runs = np.concatenate([one.runs for one in members])
        failed = runs[~done[runs]]
        if len(failed):
            steps = sorted({one.step for one in members if one.diverged})
            reasons = Counter(map(_short_reason, dataset["reason"].values[failed]))
            rows.append(
                {
                    "data set": panel,
                    "solver": line,
                    "diverged": f"{len(failed)}/{len(runs)}",
                    "at steps": ", ".join(map(number, steps)),
                    "because": "; ".join(f"{why} ({n})" for why, n in reasons.most_common()),
                }
            )
    return rows


def _short_reason(reason: str) -> str:
    """Return a reason without the numbers that differ from run to run."""
    _, _, why = reason.rpartition(": ")
    return re.sub(r" to [-+.\dein]+$", "", why)


def _who_was_best(values: pd.DataFrame) -> str:
    block = compact(values)
    text = ["## Who was best", ""]
    for problem, here in values.groupby("problem", sort=False):
        of_problem: list[dict[Any, Any]] = here.to_dict("records")
        best = [row for row in of_problem if row["is_best"]]
        if not best:
            text.append(f"- {problem}: every run diverged.")
        for row in best:
            text.append(f"- {problem}: {_praise(row, of_problem)}")
    return "\n".join([*text, "", block.caption, "", markdown_block(block).rstrip()])


def _praise(row: Mapping[Any, Any], others: Iterable[Mapping[Any, Any]]) -> str:
    level = f"{TIE_LEVEL:g}"
    iterations, seconds = (row[f"{kind}_to_{level}_mean"] for kind in ("iterations", "seconds"))
    reached = f"a gap of {level} is never reached"
    if not isinstance(iterations, str):
        reached = f"gap {level} after {number(iterations, 4)} iterations, {number(seconds, 3)} s"
    close = [
        other["method"]
        for other in others
        if other["bands_overlap_best"] and other["best_of_solver"] and not other["is_best"]
    ]
    accuracy = row["test_accuracy_mean"]
    words = [
        f"**{row['method']}** (step {number(row['step'])}, C0 {number(row['init_scale'])}): "
        f"objective {number(row['objective_mean'])}, {reached}, "
        f"test NLL {number(row['test_nll_mean'])} (sum)"
    ]
    if not isinstance(accuracy, str):
        words.append(f", accuracy {number(accuracy, 4)}")
    if close:
        words.append(f"; the bands of the objective overlap with {', '.join(close)}")
    return "".join([*words, "."])


def _tuning(values: pd.DataFrame) -> str:
    tuned: list[dict[Any, Any]] = values[values["tuned"].astype(bool)].to_dict("records")
    if not tuned:
        return ""
    rows = [
        {
            "data set": row["problem"],
            "solver": row["method"],
            "step": number(row["step"]),
            "C0": number(row["init_scale"]),
            "trials": str(row["tuning_trials"]),
            "iterations": str(row["tuning_iterations"]),
            "seconds": number(row["tuning_seconds"], 3),
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


def count(number_of: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{number_of} {noun}" if number_of == 1 else f"{number_of} {noun}s"
