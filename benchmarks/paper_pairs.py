"""Search for starts and iterations that explain the printed numbers of the paper.

python benchmarks/paper_pairs.py                       # all data sets (an hour on one core)
python benchmarks/paper_pairs.py mushrooms phishing    # only these
python benchmarks/printed_numbers.py                   # then: tables and page in docs/

Each run is written to a CSV file in results/paper-pairs/ when it ends. Run the command again to
continue: finished runs are skipped. The rules for verdicts are in `paper_rules.py`.

The paper states neither the start nor the number of iterations. The search has two stages:

1. *Screen*: VN from every start of the grid, at ten times the step of the paper for a tenth of the
   iterations. VN and SR-VN at such small steps follow the natural-gradient flow, so that this finds
   the starts worth a run, not verdicts. BW-GD is not stable at ten times its step, so its screen
   uses the step of the paper and fewer starts.
2. *Confirm*: the best starts of both screens with all three solvers at the steps of the paper. Only
   runs of this kind give verdicts.

A run ends early once its ELBO is 2 % below all printed values that it is compared with.
"""

import argparse
import math
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from paper_rules import Values, best_record, relative_distances

from gvibench.datasets.cache import prepared_path
from gvibench.engine.execute import backend_of
from gvibench.engine.run import Run
from gvibench.spec.catalogue import find
from gvibench.spec.paper_values import PAPER_RESULTS, PAPER_STEPS
from gvibench.spec.run import RunSpec
from gvibench.store.prepared import Prepared, read_prepared
from gvibench.study.defaults import complete_data

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results/paper-pairs"
SOLVERS = ("vn", "sr-vn", "bw-gd")
SCREEN_FACTOR = 10
PASSED = 0.02
"""Share by which the ELBO must be below the printed values before a run ends early."""
CHECK_EVERY = 20
"""Number of records between checks whether to end early."""
METRICS = {"train_elbo": "train_elbo_paper", "test_nll": "test_nll", "accuracy": "test_accuracy"}


class Start(NamedTuple):
    """Start of a run: m0 = mean_scale * N(0, I) from a seed, C0 = init_scale * I."""

    mean_scale: float
    init_scale: float
    seed: int = 0

    @property
    def name(self) -> str:
        seed = f"-s{self.seed}" if self.mean_scale else ""
        return f"m{self.mean_scale:g}-c{self.init_scale:.4g}{seed}"


@dataclass(frozen=True)
class Search:
    """Declared extent of the search on one data set."""

    iterations: int
    """Maximum number of iterations at the step of the paper."""
    record_every: int
    screen: tuple[Start, ...] = ()
    """Starts of VN at ten times the step."""
    screen_bw: tuple[Start, ...] = ()
    """Starts of BW-GD at its step."""
    confirm: int = 0
    """Number of starts to confirm: the best of VN and SR-VN, and as many of BW-GD."""
    confirm_iterations: int | None = None
    data: dict[str, object] = field(default_factory=dict)


def grid(means: tuple[float, ...], scales: tuple[float, ...], seeds: int = 1) -> tuple[Start, ...]:
    """Return all starts. A zero mean has no seed."""
    return tuple(
        Start(mean, scale, seed)
        for mean in means
        for scale in scales
        for seed in range(seeds if mean else 1)
    )


MEANS = (0.0, 0.1, 1.0)
SCALES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def with_prior(beta: float) -> tuple[float, ...]:
    """Return the initial scales: the grid, and the standard deviation of the prior."""
    return (*SCALES, round(beta**-0.5, 4))


CONVERGED = Search(20_000, 20_000, confirm=1)
"""The three small data sets, on which the paper's solvers agree: one start, the last iterate."""
SEARCHES = {
    "australian_scale": CONVERGED,
    "diabetes_scale": CONVERGED,
    "breast-cancer_scale": CONVERGED,
    "leukemia": Search(
        100_000,
        20,
        grid(MEANS, with_prior(0.2), seeds=5),
        grid(MEANS, (0.1, 0.3, 1.0, 3.0)),
        confirm=3,
    ),
    "phishing": Search(
        20_000, 10, grid(MEANS, with_prior(0.01)), grid((0.0, 1.0), (0.1, 0.3, 1.0)), confirm=2
    ),
    "mushrooms": Search(
        20_000, 10, grid(MEANS, with_prior(0.01)), grid((0.0, 1.0), (0.1, 0.3, 1.0)), confirm=2
    ),
    # The printed numbers fit a subsample of this size, not the 500,000 / 81,012 rows stated. Which
    # rows it had is not known.
    "covtype": Search(
        5_000,
        10,
        grid((0.0, 1.0), (0.03, 0.1, 0.3, 1.0, 3.0)),
        grid((0.0,), (0.1, 1.0)),
        confirm=1,
        data={"train_size": 50_000, "test_size": 20_000},
    ),
    # An iteration takes 3 s. The binary task is not stated; this is digit 0 against the rest.
    "mnist": Search(400, 10, grid((0.0,), (0.1, 1.0)), confirm=1, confirm_iterations=40),
}
SMALL = ("australian_scale", "diabetes_scale", "breast-cancer_scale")


def load(dataset: str) -> tuple[RunSpec, Prepared]:
    """Return a run of VN on a data set at the step of the paper, and the data."""
    data = complete_data({"dataset": dataset, **SEARCHES[dataset].data})
    prepared = read_prepared(prepared_path(data))
    spec = RunSpec(
        data=data,
        beta=find(data).beta,
        solver="vn",
        step=PAPER_STEPS[dataset]["vn"],
        expectation="piecewise",
        test_every=1,
        snapshots=0,
    )
    return spec, prepared


def spec_of(base: RunSpec, solver: str, start: Start, factor: int, iterations: int) -> RunSpec:
    """Return the run of a solver from a start at `factor` times the step of the paper."""
    dataset = base.data.dataset
    rotated = solver == "sr-vn" and dataset == "leukemia"  # the square root in the span of the rows
    every = SEARCHES[dataset].record_every
    return base.replace(
        solver="sr-vn-rotated" if rotated else solver,
        step=factor * PAPER_STEPS[dataset][solver],
        iterations=max(1, iterations // factor),
        record_every=max(1, every // factor),
        **start._asdict(),
    )


def run_to_table(spec: RunSpec, data: Prepared, floor: float) -> pd.DataFrame:
    """Execute a run until its ELBO is below `floor`, and return its records."""
    with backend_of(spec) as backend:
        run = Run(spec, data, backend)
        run.start()
        checked = 0
        while run.is_active:
            run.step()
            if len(run.recorder.iteration) >= checked + CHECK_EVERY:
                checked = len(run.recorder.iteration)
                if run.recorder.scalars()["train_elbo_paper"][-1] < floor:
                    break
        run.finish()
    scalars = run.recorder.scalars()
    columns = {name: scalars[metric] for name, metric in METRICS.items()}
    return pd.DataFrame({"iteration": run.recorder.iteration, **columns, "status": run.status})


class Done(NamedTuple):
    """A finished run."""

    dataset: str
    solver: str
    start: Start
    factor: int
    records: pd.DataFrame

    def values(self) -> Values:
        return Values(*(self.records[name].to_numpy() for name in METRICS))

    def distance(self, row: str) -> float:
        """Return the largest relative distance of the best pair from a printed row."""
        distances = relative_distances(self.values(), PAPER_RESULTS[self.dataset][row])
        best, explained = best_record(distances)
        largest = float(np.nanmax(distances[:, best]))
        return largest - 1.0 if explained else largest  # pairs that explain a row come first


class Searcher:
    """Runs on one data set, read from their files if they are finished."""

    def __init__(self, dataset: str, folder: Path) -> None:
        self.dataset = dataset
        self.search = SEARCHES[dataset]
        self.base, self.data = load(dataset)
        self.folder = folder / dataset
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self, solver: str, start: Start, factor: int = 1, iterations: int = 0) -> Done:
        """Return a run, executed now if its file does not exist."""
        spec = spec_of(self.base, solver, start, factor, iterations or self.search.iterations)
        path = self.folder / f"{solver}-{start.name}-x{factor}-{spec.spec_hash[:8]}.csv"
        if not path.exists():
            rows = PAPER_RESULTS[self.dataset]
            compared = ("bw-gd",) if solver == "bw-gd" else ("vn", "sr-vn")
            floor = (1.0 - PASSED) * min(rows[name].train_elbo for name in compared)
            clock = time.process_time()
            end = -math.inf if self.dataset in SMALL else floor
            records = run_to_table(spec, self.data, end)
            part = path.with_suffix(f".{os.getpid()}.part")
            records.to_csv(part, index=False, float_format="%.10g")
            part.replace(path)
            last = records.iloc[-1]
            print(
                f"{self.dataset} {solver} {start.name} x{factor}: iteration "
                f"{last['iteration']:.0f}, ELBO {last['train_elbo']:.2f}, {last['status']}, "
                f"{time.process_time() - clock:.0f} s",
                flush=True,
            )
        return Done(self.dataset, solver, start, factor, pd.read_csv(path))

    def all_runs(self) -> list[Done]:
        """Return the runs of both stages."""
        if self.dataset in SMALL:
            return [self.run(solver, Start(1.0, 1.0)) for solver in SOLVERS]
        screened = [self.run("vn", start, SCREEN_FACTOR) for start in self.search.screen]
        screened_bw = [self.run("bw-gd", start) for start in self.search.screen_bw]
        count = self.search.confirm
        chosen: list[Start] = []
        for row, runs in (("vn", screened), ("sr-vn", screened), ("bw-gd", screened_bw)):
            chosen += [run.start for run in sorted(runs, key=lambda run: run.distance(row))[:count]]
        iterations = self.search.confirm_iterations or 0
        confirmed = [
            self.run(solver, start, iterations=iterations)
            for start in dict.fromkeys(chosen)
            for solver in SOLVERS
        ]
        unique = {(run.solver, run.start, run.factor): run for run in screened_bw + confirmed}
        return [*screened, *unique.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=[], metavar="DATASET")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.datasets) - set(SEARCHES)):
        parser.error(f"unknown data set '{unknown[0]}': use {', '.join(SEARCHES)}")
    for dataset in arguments.datasets or SEARCHES:
        Searcher(dataset, arguments.results).all_runs()


if __name__ == "__main__":
    main()
