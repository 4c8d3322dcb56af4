"""Build the sections of a page that are text, tables or static figures."""

import base64
import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from gvibench.analysis.configurations import configurations, unique
from gvibench.analysis.costs import cost_of
from gvibench.analysis.gaps import final_values
from gvibench.analysis.ranking import TIE_LEVEL, rule_of
from gvibench.errors import RETRIED
from gvibench.registry import TABLES
from gvibench.report.conclusion import conclusion
from gvibench.report.findings import (
    CAPTIONS,
    ending_rows,
    join_names,
    missing_optima,
    optimum_warning,
    reference_description,
)
from gvibench.report.page.ranking import ranking_block
from gvibench.spec.statuses import STATUSES
from gvibench.tables.formats import Block, error_table, number, step_text, to_csv, with_full_cells
from gvibench.tables.performance import REACHED_COUNT

__all__ = ["Section", "figures_of", "overview", "provenance", "table_section", "tables_of"]

Section = dict[str, Any]
"""Data of one section of the page, ready for JSON."""

RANKING = "Ranking of the solvers on each problem, each at its best step and initial scale C0"
RANKING_NOTES = (
    "Gaps are medians [min, max] over the seeds that neither diverged nor failed.",
    f"{{cost}} to {TIE_LEVEL:g}: until the gap settles there. {REACHED_COUNT}",
    "Behind: the median difference of the final objectives, seed by seed.",
    "Within the seeds: the range of the final gaps over the seeds overlaps with the range of the "
    "best solver.",
)
MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
RUN_COLUMNS = (
    *("seed", "status", "iterations_done", "wall_seconds", "device", "threads", "host"),
    *("spec_hash", "code_hash", "reason"),
)
MAX_LISTED_RUNS = 2000
"""Maximum number of runs in the list of all runs, about 3 MB with their specs."""
MAX_FIGURE_BYTES = 2_500_000
"""Maximum total size of the static figures of a study, about 3 MB in base64."""


def overview(dataset: xr.Dataset) -> Section:
    """Return the conclusion, ranking, counts, facts and failed runs of a study."""
    configs = configurations(dataset)
    ranking, leading = ranking_block(dataset)
    hosts = unique(zip(dataset["host"].values, dataset["device"].values, strict=True))
    alone = bool(dataset["exclusive"].values.all())
    seconds = float(np.nansum(final_values(dataset["seconds"])))
    tuning = _tuning_seconds(dataset)
    return {
        "conclusion": conclusion(dataset),
        "counts": {
            "runs": int(dataset.sizes["run"]),
            "problems": len(unique(config.panel for config in configs)),
            "solvers": len(unique(config.solver for config in configs)),
            "configurations": len(configs),
            "seeds": len(unique(dataset["seed"].values.tolist())),
            **{status: sum(config.endings[status] for config in configs) for status in STATUSES},
        },
        "facts": {
            "Problems": join_names(unique(config.panel for config in configs)),
            "Solvers": join_names(unique(config.line for config in configs)),
            "Iterations": f"up to {int(dataset['iterations_done'].values.max())}",
            "Solver time": f"{_duration(seconds)} for all runs"
            + (f", plus {_duration(tuning)} for tuning" if tuning else ""),
            "Wall time": f"{_duration(float(dataset['wall_seconds'].values.sum()))} for all runs, "
            "including start-up and recording",
            "Machines": ", ".join(f"{host} ({device})" for host, device in hosts)
            + (
                "; no other job ran at the same time as a run"
                if alone
                else "; other jobs may have run at the same time"
            ),
            "Gaps": f"objective gaps are measured from {reference_description(dataset)}; "
            "gaps of test metrics are measured from the best value seen",
            **({"Warning": warning} if (warning := optimum_warning(dataset)) else {}),
            **{
                f"No optimum for {problem}": reason
                for problem, reason in missing_optima(dataset).items()
            },
        },
        "ranking": table_section(RANKING, ranking) | {"leading": leading},
        "rule": " ".join([rule_of(dataset), *RANKING_NOTES]).format(
            cost=cost_of(dataset).noun.capitalize()
        ),
        "ended": table_section(
            "Runs that stalled, failed or diverged",
            with_full_cells(lambda: Block("", pd.DataFrame(ending_rows(dataset)), 2)),
        ),
    }


def _tuning_seconds(dataset: xr.Dataset) -> float:
    """Return the time spent on tuning, which the seeds of a configuration share."""
    seconds = dataset["tuning_seconds"].values
    return float(sum(seconds[config.runs[0]] for config in configurations(dataset) if config.tuned))


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{number(seconds / size, 3)} {unit}"
    return f"{number(seconds, 3)} s"


def tables_of(dataset: xr.Dataset, names: Iterable[str]) -> list[Section]:
    """Return the blocks of the given tables, each with the full values of its table for CSV."""
    sections = []
    for name in names:
        try:
            table = TABLES.load(name)(dataset)
        except RETRIED:
            raise
        except Exception as error:
            table = error_table(name, error)
        head, *rows = csv.reader(io.StringIO(to_csv(table)))
        values = {"head": head, "rows": rows}
        blocks = [table_section(block.caption, block) | {"csv": values} for block in table.blocks]
        sections.append({"name": name, "blocks": blocks})
    return sections


def table_section(caption: str, block: Block) -> Section:
    """Return the data of a table for the page.

    `full` has the cells with all digits, or None where this changes nothing.
    """
    rows = _texts(block.cells)
    section = {
        "caption": caption,
        "columns": [str(column) for column in block.cells.columns],
        "text_columns": block.text_columns,
        "rows": rows,
    }
    if block.full is not None:
        section["full"] = [
            [None if full == text else full for text, full in zip(*pair, strict=True)]
            for pair in zip(rows, _texts(block.full), strict=True)
        ]
    return section


def _texts(cells: pd.DataFrame) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in cells.itertuples(index=False)]


def figures_of(paths: Sequence[Path]) -> list[Section]:
    """Return the static figures, each in its smallest format, until the size limit is reached.

    A figure that could not be drawn has its error message as caption and no picture.
    """
    by_name: dict[str, list[Path]] = {}
    errors = {}
    for path in paths:
        if path.suffix in MEDIA_TYPES:
            by_name.setdefault(path.stem, []).append(path)
        elif path.suffix == ".json" and "error" in (metadata := json.loads(path.read_text())):
            errors[path.stem] = metadata["error"]
    sections, room = [], MAX_FIGURE_BYTES
    for name, formats in by_name.items():
        if name in errors:
            sections.append({"name": name, "caption": errors[name], "source": None, "failed": True})
            continue
        smallest = min(formats, key=lambda path: path.stat().st_size)
        content = smallest.read_bytes()
        room -= len(content)
        source = None
        if room >= 0:
            # In an image element, a browser runs no scripts and follows no links of an SVG.
            encoded = base64.b64encode(content).decode("ascii")
            source = f"data:{MEDIA_TYPES[smallest.suffix]};base64,{encoded}"
        caption = CAPTIONS.get(name, name)
        sections.append({"name": name, "caption": caption, "source": source, "failed": False})
    return sections


def provenance(dataset: xr.Dataset, codes: dict[str, str]) -> Section:
    """Return the versions, and the hashes and specs of all runs, up to `MAX_LISTED_RUNS`."""
    configs = configurations(dataset)
    config_of = {int(run): config for config in configs for run in config.runs}
    listed = sorted(config_of)[:MAX_LISTED_RUNS]
    columns = {name: dataset[name].values[listed].tolist() for name in RUN_COLUMNS}

    def block() -> Block:
        rows = [
            {
                "data set": config_of[run].panel,
                "solver": config_of[run].line,
                "step": step_text(config_of[run].step_size, config_of[run].step_rule),
                "C0": number(config_of[run].init_scale),
                **{name.replace("_", " "): values[k] for name, values in columns.items()},
                "wall seconds": number(columns["wall_seconds"][k], 3),
            }
            for k, run in enumerate(listed)
        ]
        return Block("", pd.DataFrame(rows), 2)

    shown = unique(config_of[run] for run in listed)
    position = {id(config): k for k, config in enumerate(shown)}
    caption = "All runs"
    if len(listed) < len(config_of):
        caption = f"The first {len(listed)} of {len(config_of)} runs; the table 'runs' has all"
    return {
        "facts": {
            **{f"{name} version": text for name, text in dataset.attrs["versions"].items()},
            **codes,
        },
        "runs": table_section(caption, with_full_cells(block)),
        "specs": [_without_seed(config.spec) for config in shown],
        "spec_of_run": [position[id(config_of[run])] for run in listed],
    }


def _without_seed(spec: dict[str, Any]) -> str:
    del spec["seed"]
    return json.dumps(spec, indent=1)
