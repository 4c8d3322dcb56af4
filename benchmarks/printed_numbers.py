"""Judge every printed number of the paper by the runs of `paper_pairs.py`, and write the page.

python benchmarks/printed_numbers.py    # writes docs/printed-numbers.md and .csv
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from paper_pairs import RESULTS, ROOT, SEARCHES, SOLVERS, Done, Searcher
from paper_rules import (
    EXPLAINED,
    NUMBERS,
    REPRODUCED,
    UNEXPLAINED,
    Values,
    best_record,
    relative_distances,
    row_verdict,
)

from gvibench.spec.paper_values import PAPER_RESULTS, PAPER_STEPS

CSV = ROOT / "docs/printed-numbers.csv"
PAGE = ROOT / "docs/printed-numbers.md"
TITLES = {"vn": "VN", "sr-vn": "SR-VN", "bw-gd": "BW-GD"}
BEGIN = "<!-- written by benchmarks/printed_numbers.py -->"
END = "<!-- end of this part -->"


def best_pair(runs: Sequence[Done], rows: Sequence[str]) -> tuple[Done, int]:
    """Return the run and the record that are nearest to printed rows of a data set."""
    found = []
    for k, run in enumerate(runs):
        printed = [PAPER_RESULTS[run.dataset][row] for row in rows]
        distances = np.stack([relative_distances(run.values(), each) for each in printed])
        record, explained = best_record(distances)
        largest = np.where(np.isnan(distances), np.inf, distances)[..., record].max()
        found.append((not explained, float(largest), k, record))
    _, _, k, record = min(found)
    return runs[k], record


def judged_rows(dataset: str, runs: Sequence[Done]) -> Iterator[dict[str, Any]]:
    """Yield a record for each printed number of a data set."""
    at_paper_steps = [run for run in runs if run.factor == 1]
    for solver in SOLVERS:
        own = [run for run in at_paper_steps if run.solver == solver]
        run, record = best_pair(own, [solver])
        printed = PAPER_RESULTS[dataset][solver]
        ours = Values(*(float(each[record]) for each in run.values()))
        verdict = row_verdict(ours, printed)
        for name in NUMBERS:
            value, target = getattr(ours, name), getattr(printed, name)
            yield {
                "dataset": dataset,
                "solver": solver,
                "number": name,
                "printed": target,
                "ours": value,
                "difference": value - target,
                "relative": (value - target) / target,
                "verdict": verdict,
                "mean_scale": run.start.mean_scale,
                "init_scale": run.start.init_scale,
                "seed": run.start.seed,
                "step": PAPER_STEPS[dataset][solver],
                "iteration": int(run.records["iteration"].iloc[record]),
                "starts_searched": len(own),
            }


def common_pair(dataset: str, runs: Sequence[Done]) -> dict[str, Any]:
    """Return the start and iteration that are nearest to the rows of all solvers together."""
    by_start: dict[Any, dict[str, Done]] = {}
    for run in runs:
        if run.factor == 1:
            by_start.setdefault(run.start, {})[run.solver] = run
    found = []
    for start, of_solver in by_start.items():
        if len(of_solver) < len(SOLVERS):
            continue
        common = sorted(
            set.intersection(*(set(run.records["iteration"]) for run in of_solver.values()))
        )
        parts = []
        for solver, run in of_solver.items():
            records = run.records.set_index("iteration").loc[common]
            values = Values(*(records[name].to_numpy() for name in NUMBERS))
            parts.append(relative_distances(values, PAPER_RESULTS[dataset][solver]))
        distances = np.stack(parts)
        record, explained = best_record(distances)
        largest = float(np.where(np.isnan(distances), np.inf, distances)[..., record].max())
        found.append((not explained, largest, start, int(common[record])))
    unexplained, largest, start, iteration = min(found)
    return {
        "dataset": dataset,
        "explained": not unexplained,
        "largest": largest,
        "start": start,
        "iteration": iteration,
        "starts": len(found),
    }


def start_text(mean_scale: float, init_scale: float, seed: int) -> str:
    mean = f"{mean_scale:g} N(0, I), seed {seed}" if mean_scale else "0"
    return f"m0 = {mean}; C0 = {init_scale:g} I"


def rows_part(table: pd.DataFrame) -> str:
    """Return the verdicts on all printed rows, as the page shows them."""
    counts = table.drop_duplicates(["dataset", "solver"])["verdict"].value_counts()
    total = int(counts.sum())
    first, second, third = (
        f"{int(counts.get(name, 0))} are {name}" for name in (REPRODUCED, EXPLAINED, UNEXPLAINED)
    )
    lines = [
        f"Of {total} printed rows with {3 * total} numbers, {first}, {second} and {third}.",
        "",
        "| data set | solver | verdict | train ELBO: printed, ours (difference) "
        "| test NLL: printed, ours (difference) | accuracy: printed, ours | start | iteration |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (dataset, solver), part in table.groupby(["dataset", "solver"], sort=False):
        first, number = part.iloc[0], part.set_index("number")
        cells = [dataset, TITLES[solver], first["verdict"]]
        for name in NUMBERS[:2]:
            row = number.loc[name]
            share = f"{row['difference']:+.4g}, {100 * row['relative']:+.2g} %"
            cells.append(f"{row['printed']:g}, {row['ours']:.2f} ({share})")
        accuracy = number.loc["accuracy"]
        cells.append(f"{accuracy['printed']:g}, {accuracy['ours']:.5f}")
        cells.append(start_text(first["mean_scale"], first["init_scale"], first["seed"]))
        lines.append(f"| {' | '.join([*cells, str(first['iteration'])])} |")
    return "\n".join(lines)


def common_part(common: Sequence[dict[str, Any]]) -> str:
    """Return whether one pair explains the rows of all solvers, by data set."""
    yes, no = (
        ", ".join(row["dataset"] for row in common if row["explained"] == explained)
        for explained in (True, False)
    )
    lines = [
        "## One pair for all solvers of a data set",
        "",
        f"One start and one iteration explain all three rows of {yes or 'no data set'}, but not "
        f"those of {no or 'any other'}.",
        "",
        "| data set | one pair explains all three rows | largest relative distance | nearest start "
        "| iteration | starts run with all solvers |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in common:
        cells = [row["dataset"], "yes" if row["explained"] else "no", f"{row['largest']:.2g}"]
        cells += [start_text(*row["start"]), str(row["iteration"]), str(row["starts"])]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def with_generated_part(page: str, part: str) -> str:
    before, _, rest = page.partition(BEGIN)
    return before + part + rest.partition(END)[2]


def main() -> None:
    rows, common = [], []
    for dataset in SEARCHES:
        runs = Searcher(dataset, RESULTS).all_runs()
        rows += judged_rows(dataset, runs)
        common.append(common_pair(dataset, runs))
    table = pd.DataFrame(rows)
    table.to_csv(CSV, index=False, float_format="%.10g")
    page = PAGE.read_text()
    part = "\n".join([BEGIN, rows_part(table), "", common_part(common), END])
    PAGE.write_text(with_generated_part(page, part))


if __name__ == "__main__":
    main()
