"""Write the summary of a study, the page to read first."""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import Configuration, configurations, unique
from gvibench.analysis.measures import measured
from gvibench.analysis.ranking import rule_of
from gvibench.analysis.statuses import MEANINGS
from gvibench.report.conclusion import conclusion
from gvibench.report.findings import (
    CAPTIONS,
    best_sentences,
    ending_rows,
    join_names,
    missing_optima,
    optimum_warning,
    reference_description,
)
from gvibench.spec.messages import counted
from gvibench.spec.statuses import STATUSES
from gvibench.store.aggregates import open_aggregate
from gvibench.store.files import atomic_path
from gvibench.tables.formats import ERROR, Block, escape_markdown, markdown_block, number, step_text
from gvibench.tables.performance import NONE, compact, values_of
from gvibench.tables.quality import quality_blocks

__all__ = ["write_summary"]

MANY_PROBLEMS = 12
"""Number of problems above which the summary lists data sets instead."""


def write_summary(
    job: Mapping[str, Any],
    aggregate: Path,
    out: Path,
    order: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write the summary of a study.

    Parameters
    ----------
    job
        Mapping with the keys `study`, `tables` and `figures` (names of the tables and figures of
        the study) and `code_hash`.
    aggregate
        Aggregate of the study.
    out
        Markdown file to write. Links to figures and tables are relative to its folder.
    order
        Order of data sets and solvers, see `open_aggregate`.
    """
    with open_aggregate(aggregate, order=order) as dataset:
        text = _summary(job, dataset, _errors(out.parent, job["figures"], job["tables"]))
    with atomic_path(out) as part:
        part.write_text(text)


def _errors(folder: Path, figures: Iterable[str], tables: Iterable[str]) -> dict[str, str]:
    """Return the error messages of failed figures and tables, e.g. by "figure bias"."""
    errors = {}
    for name in figures:
        path = folder / "figures" / f"{name}.json"
        if path.exists() and "error" in (metadata := json.loads(path.read_text())):
            errors[f"figure {name}"] = str(metadata["error"])
    for name in tables:
        path = folder / "tables" / f"{name}.csv"
        rows = list(csv.reader(path.read_text().splitlines())) if path.exists() else []
        if rows and rows[0] == [ERROR]:
            errors[f"table {name}"] = rows[1][0]
    return errors


def _summary(job: Mapping[str, Any], dataset: xr.Dataset, errors: Mapping[str, str]) -> str:
    """Return the summary as Markdown."""
    values = values_of(dataset)
    sections = [
        f"# {escape_markdown(dataset.attrs['title'] or job['study'])}",
        escape_markdown(conclusion(dataset)),
        _overview(job, dataset),
        _failures(errors),
        _endings(dataset),
        _best(values, rule_of(dataset)),
        _quality(dataset),
        _tuning(values),
        _figures(job["figures"]),
        _tables(job["tables"]),
        _provenance(job, dataset),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _problems(configs: Sequence[Configuration]) -> str:
    """Return the names of the problems, or those of their data sets if there are many problems."""
    names = unique(config.panel for config in configs)
    fields = unique(field for config in configs for field in config.panel_fields)
    if len(names) <= MANY_PROBLEMS or not fields:
        return join_names(names)
    datasets = join_names(unique(config.dataset for config in configs))
    varied = " and ".join(field.removeprefix("data.") for field in fields)
    return f"{datasets}; they vary in {varied}"


def _overview(job: Mapping[str, Any], dataset: xr.Dataset) -> str:
    configs = configurations(dataset)
    problems = unique(config.panel for config in configs)
    lines = unique(config.line for config in configs)
    seeds = unique(dataset["seed"].values.tolist())
    counts = [
        counted(dataset.sizes["run"], "run"),
        counted(len(problems), "problem"),
        counted(len(unique(config.solver for config in configs)), "solver"),
        counted(len(configs), "configuration"),
        counted(len(seeds), "seed"),
    ]
    text = [
        f"Study `{job['study']}`: {', '.join(counts)}.",
        "",
        f"- Problems: {escape_markdown(_problems(configs))}",
        f"- Solvers: {escape_markdown(join_names(lines))}",
        f"- Objective gaps are measured from {reference_description(dataset)}; gaps of test "
        "metrics are measured from the best value seen.",
    ]
    text += [
        f"- No optimum for {escape_markdown(problem)}: {escape_markdown(reason)}"
        for problem, reason in missing_optima(dataset).items()
    ]
    if warning := optimum_warning(dataset):
        text.append(f"- {warning}")
    return "\n".join(text)


def _failures(errors: Mapping[str, str]) -> str:
    if not errors:
        return ""
    lines = [f"- {name}: {escape_markdown(message)}" for name, message in errors.items()]
    return "\n".join(["## Failed figures and tables", "", *lines])


def _endings(dataset: xr.Dataset) -> str:
    endings = sum((config.endings for config in configurations(dataset)), Counter())
    lines = [
        f"- {endings[status]} {status}: {MEANINGS[status]}."
        for status in STATUSES
        if endings[status]
    ]
    text = ["## How the runs ended", "", *lines]
    if rows := ending_rows(dataset):
        text += ["", markdown_block(Block("", pd.DataFrame(rows), 5)).rstrip()]
    return "\n".join(text)


def _best(values: pd.DataFrame, rule: str) -> str:
    block = compact(values)
    text = ["## Best solvers", "", rule, "", *(f"- {line}" for line in best_sentences(values))]
    return "\n".join([*text, "", block.caption, "", markdown_block(block).rstrip()])


def _quality(dataset: xr.Dataset) -> str:
    """Return the fit of the Gaussians to the posterior, if the study has measured it."""
    if "gaussian" not in dataset.dims:
        return ""
    blocks = quality_blocks(measured(dataset))
    parts = [part for block in blocks for part in (block.caption, markdown_block(block).rstrip())]
    return "\n\n".join(["## Quality of the posteriors", *parts])


def _tuning(values: pd.DataFrame) -> str:
    tuned: list[dict[Any, Any]] = values[values["tuned"].astype(bool)].to_dict("records")
    if not tuned:
        return _notes_without_tuned_steps(values)
    rows = [
        {
            "data set": row["problem"],
            "solver": row["method"],
            "step": step_text(row["step"], row["step_rule"]),
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
        "## Cost of tuning\n\n"
        f"{sum(row['tuning_trials'] for row in tuned)} trials, {number(total, 3)} s of solver "
        "time. No other time in this summary includes the cost of tuning.\n\n"
    )
    return text + markdown_block(Block("", pd.DataFrame(rows), 2)).rstrip()


def _notes_without_tuned_steps(values: pd.DataFrame) -> str:
    """Return the notes on tuned values of beta for a study without tuned steps."""
    notes = unique(
        f"- {escape_markdown(row['problem'])}: {row['tuning_note']}"
        for row in values.to_dict("records")
        if row["tuning_note"] != NONE
    )
    return "\n".join(["## Tuning", "", *notes]) if notes else ""


def _figures(names: Iterable[str]) -> str:
    sections = []
    for name in names:
        links = ", ".join(f"[{end}](figures/{name}.{end})" for end in ("pdf", "svg", "csv", "json"))
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
    versions = ", ".join(f"{name} {text}" for name, text in dataset.attrs["versions"].items())
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
        + (
            "no other job ran at the same time as a run"
            if alone
            else "other jobs may have run at the same time as a run"
        ),
        f"- Code hash of this summary: `{job['code_hash']}`",
        *(f"- Code hash of {solver}: {', '.join(hashes)}" for solver, hashes in codes.items()),
        "- Specs and their hashes: see the JSON file of each figure",
    ]
    return "\n".join(text)
