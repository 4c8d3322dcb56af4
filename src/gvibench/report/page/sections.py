"""The parts of a page that are words and tables: what was run, how it did, where it comes from."""

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

from gvibench import tables
from gvibench.analysis.configurations import configurations, unique
from gvibench.analysis.gaps import final
from gvibench.analysis.ranking import RULE
from gvibench.failures import RETRIED
from gvibench.report.summary import (
    CAPTIONS,
    doubt,
    ending_rows,
    listed,
    missing_optima,
    reference_words,
)
from gvibench.spec.endings import STATUSES
from gvibench.tables.formats import Block, error_table, number, to_csv
from gvibench.tables.performance import compact, values_of

__all__ = ["Section", "figures_of", "overview", "provenance", "table_section", "tables_of"]

Section = dict[str, Any]
"""Plain data of one part of the page."""

TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
PER_RUN = (
    *("seed", "status", "iterations_done", "wall_seconds", "device", "threads", "host"),
    *("spec_hash", "code_hash", "reason"),
)
MOST_BYTES = 2_500_000
"""Of all static figures of a study: three megabytes of text."""


def overview(dataset: xr.Dataset) -> Section:
    """Return what was run, on what, how long, how runs ended and who was best."""
    every = configurations(dataset)
    values = values_of(dataset)
    best = compact(values)
    winners = best.cells[best.cells["behind the best"] == "best"].drop(columns="behind the best")
    hosts = unique(zip(dataset["host"].values, dataset["device"].values, strict=True))
    alone = bool(dataset["exclusive"].values.all())
    seconds = float(np.nansum(final(dataset["seconds"].values)))
    tuning = _tuning_seconds(dataset)
    return {
        "counts": {
            "runs": int(dataset.sizes["run"]),
            "problems": len(unique(one.panel for one in every)),
            "solvers": len(unique(one.solver for one in every)),
            "configurations": len(every),
            "seeds": len(unique(dataset["seed"].values.tolist())),
            **{status: sum(one.endings[status] for one in every) for status in STATUSES},
        },
        "facts": {
            "Problems": listed(unique(one.panel for one in every)),
            "Solvers": listed(unique(one.line for one in every)),
            "Iterations": f"up to {int(dataset['iterations_done'].values.max())}",
            "Solver time": f"{_duration(seconds)} in all runs"
            + (f", and {_duration(tuning)} of tuning" if tuning else ""),
            "Wall time": f"{_duration(float(dataset['wall_seconds'].values.sum()))}, start-up and "
            "recording included, all runs added up",
            "Machines": ", ".join(f"{host} ({device})" for host, device in hosts)
            + ("; no other job ran beside a run" if alone else "; other jobs may have run beside"),
            "Gaps": f"of the objective: from {reference_words(dataset)}; of test metrics: from the "
            "best value seen",
            **({"Warning": sentence} if (sentence := doubt(dataset)) else {}),
            **{
                f"No optimum for {problem}": reason
                for problem, reason in missing_optima(dataset).items()
            },
            "Rule": RULE,
        },
        "best": table_section("Best solver on each problem", Block("", winners, 2)),
        "ended": table_section(
            "Runs that stalled, failed or diverged",
            Block("", pd.DataFrame(ending_rows(dataset)), 2),
        ),
    }


def _tuning_seconds(dataset: xr.Dataset) -> float:
    """Return what tuning cost; the seeds of a configuration share one choice."""
    spent = dataset["tuning_seconds"].values
    return float(sum(spent[one.runs[0]] for one in configurations(dataset) if one.tuned))


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{number(seconds / size, 3)} {unit}"
    return f"{number(seconds, 3)} s"


def tables_of(dataset: xr.Dataset, names: Iterable[str]) -> list[Section]:
    """Return the blocks of the given tables, each with its table's full values for CSV."""
    found = []
    for name in names:
        try:
            table = tables.REGISTRY.load(name).build(dataset)
        except RETRIED:
            raise
        except Exception as error:
            table = error_table(name, error)
        head, *rows = csv.reader(io.StringIO(to_csv(table)))
        values = {"head": head, "rows": rows}
        blocks = [table_section(block.caption, block) | {"csv": values} for block in table.blocks]
        found.append({"name": name, "blocks": blocks})
    return found


def table_section(caption: str, block: Block) -> Section:
    """Return a block as the page's tables are described."""
    return {
        "caption": caption,
        "columns": [str(column) for column in block.cells.columns],
        "words": block.text_columns,
        "rows": [[str(cell) for cell in row] for row in block.cells.itertuples(index=False)],
    }


def figures_of(paths: Sequence[Path]) -> list[Section]:
    """Return the static figures, each in the smaller of its formats, as far as there is room."""
    by_name: dict[str, list[Path]] = {}
    errors = {}
    for path in paths:
        if path.suffix in TYPES:
            by_name.setdefault(path.stem, []).append(path)
        elif path.suffix == ".json" and "error" in (metadata := json.loads(path.read_text())):
            errors[path.stem] = metadata["error"]
    found, room = [], MOST_BYTES
    for name, formats in by_name.items():
        smallest = min(formats, key=lambda path: path.stat().st_size)
        content = smallest.read_bytes()
        room -= len(content)
        source = None
        if room >= 0:
            # As an image: a browser runs no script of it and follows no link in it.
            encoded = base64.b64encode(content).decode("ascii")
            source = f"data:{TYPES[smallest.suffix]};base64,{encoded}"
        caption = errors.get(name) or CAPTIONS.get(name, name)
        found.append({"name": name, "caption": caption, "source": source})
    return found


def provenance(dataset: xr.Dataset, codes: dict[str, str]) -> Section:
    """Return where the numbers come from: every run with its hashes, and the versions."""
    every = configurations(dataset)
    place = {int(run): k for k, one in enumerate(every) for run in one.runs}
    columns = {name: dataset[name].values.tolist() for name in PER_RUN}
    rows = []
    for run in range(dataset.sizes["run"]):
        one = every[place[run]]
        rows.append(
            {
                "data set": one.panel,
                "solver": one.line,
                "step": number(one.step),
                "C0": number(one.init_scale),
                **{name.replace("_", " "): found[run] for name, found in columns.items()},
                "wall seconds": number(columns["wall_seconds"][run], 3),
            }
        )
    return {
        "facts": {
            **{f"{name} version": found for name, found in dataset.attrs["versions"].items()},
            **codes,
        },
        "runs": table_section("Every run", Block("", pd.DataFrame(rows), 2)),
        "specs": [_spec(dataset, int(one.runs[0])) for one in every],
        "spec_of_run": [place[run] for run in range(dataset.sizes["run"])],
    }


def _spec(dataset: xr.Dataset, run: int) -> str:
    """Return the spec that the seeds of a configuration share."""
    spec: dict[str, Any] = json.loads(dataset["spec"].values[run])
    del spec["seed"]
    return json.dumps(spec, indent=1)
