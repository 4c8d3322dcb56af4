"""Tune step size and initial scale of one solver on one data set.

A round tries a grid of step sizes × initial scales with each tuning seed. While the best point lies
at an edge of the grid, the round extends the grid there, up to a limit. The next round refines the
grid around the best point. After a fixed number of rounds, `gvibench.engine.tuning_choice` chooses
the best point.

A quasi-random search instead tries a fixed number of points of a sequence, in one round.

A point is excluded if one of its trials diverged or ended above its starting objective. Points are
compared by the mean of their final objectives over the tuning seeds.

The rounds depend only on the results of their trials. So a job that finds trials of an earlier one,
which was interrupted or had other settings, takes the same way and runs only what is missing.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gvibench.engine.lockstep import run_trials
from gvibench.engine.run import Run
from gvibench.engine.tuning_grid import (
    Edge,
    Grid,
    around,
    best_point,
    continued_below,
    first_grid,
    points,
    quasi_random_points,
)
from gvibench.errors import UserError
from gvibench.spec.canonical import hash_values
from gvibench.spec.run import RunSpec
from gvibench.spec.tuning import MAX_EXTENSIONS
from gvibench.store.prepared import Prepared
from gvibench.store.trials import TUNED, Key, StoredTrials, Trial, read_trials, write_trials

__all__ = ["Round", "Trials", "next_grid", "try_grid", "tune"]

SAVE_SECONDS = 10.0
"""Minimum time between two saves of the trials within a round."""


@dataclass(frozen=True)
class Round:
    """Grid of a round, after its extensions, and the trials of its points."""

    grid: Grid
    extensions: dict[str, int]
    """Number of grid extensions, by field."""
    trials: list[Trial]


class Trials:
    """Trials of one solver on one data set, which are run once and kept in a file.

    Parameters
    ----------
    template
        Spec of a trial; its step, initial scale and seed are replaced.
    data
        Prepared data.
    rows
        Maximum number of training rows, `held-out` for the test rows instead, or None for all.
    path
        File of the trials. Trials of the same template, data and code are taken from it.
    code_hash
        Hash of the code of the trials.
    """

    def __init__(
        self,
        template: Mapping[str, Any],
        data: Prepared,
        rows: int | Literal["held-out"] | None = None,
        path: Path | None = None,
        code_hash: str = "",
    ) -> None:
        self._template = template
        self._part, self.share = _subsample(data, rows)
        self._path = path
        fixed = {name: value for name, value in template.items() if name not in (*TUNED, "seed")}
        self._identity = hash_values([fixed, rows, code_hash, data.content_hash])
        self._known = self._stored()
        self._saved, self._saved_at = len(self._known), time.monotonic()

    def _stored(self) -> dict[Key, Trial]:
        if self._path is None or not self._path.exists():
            return {}
        try:
            stored = read_trials(self._path)
        except UserError:  # damaged: run them again
            return {}
        same = stored.identity == self._identity
        return {trial.key: trial for trial in stored.trials} if same else {}

    def run(self, step: float, scales: Iterable[float], seeds: Iterable[int]) -> list[Trial]:
        """Return the trials of a step size with each initial scale and each seed."""
        seeds = list(seeds)
        keys = [(step, scale, seed) for scale in scales for seed in seeds]
        missing = [key for key in keys if key not in self._known]
        runs = run_trials([self.spec(*key) for key in missing], self._part)
        for key, run in zip(missing, runs, strict=True):
            self._known[key] = _trial(key, run)
            if time.monotonic() - self._saved_at > SAVE_SECONDS:
                self.save()
        return [self._known[key] for key in keys]

    def save(self) -> None:
        """Write the trials, if there are new ones."""
        if self._path is not None and len(self._known) > self._saved:
            data = self._template["data"]["dataset"]
            title = f"{self._template['solver']} on {data}"
            trials = list(self._known.values())
            write_trials(self._path, StoredTrials(self._identity, title, trials))
        self._saved, self._saved_at = len(self._known), time.monotonic()

    def spec(self, step: float, scale: float, seed: int) -> RunSpec:
        """Return the spec of a trial."""
        # The loss of a share of the rows is about that share of the whole loss. With beta and gamma
        # multiplied by the share and steps divided by it, each solver takes the path that it would
        # take on the whole problem if each of these rows occurred several times.
        own = {"step": step / self.share, "init_scale": scale, "seed": seed}
        return RunSpec.from_dict({**self._template, **own}).scaled(self.share)


def _trial(key: Key, run: Run) -> Trial:
    recorder = run.recorder
    objective = recorder.scalars()["objective"]
    return Trial(*key, run.status, run.seconds, np.array(recorder.iteration), objective)


def _subsample(data: Prepared, rows: int | Literal["held-out"] | None) -> tuple[Prepared, float]:
    """Return the data of the trials, and the ratio of their rows to all training rows."""
    total = len(data.train_y)
    if rows == "held-out":
        return data.with_held_out_rows(), len(data.test_y) / total
    if rows is None or rows >= total:
        return data, 1.0
    rng = np.random.default_rng([data.spec.split_seed, total, rows])
    picked = np.sort(rng.choice(total, rows, replace=False))
    return data.with_training_rows(picked), rows / total


def tune(trials: Trials, settings: Mapping[str, Any]) -> list[Round]:
    """Return all rounds, with the given settings of the study's tuning stage."""
    if settings["search"] == "quasi-random":
        return [_try_sequence(trials, settings)]
    rounds: list[Round] = []
    for _ in range(settings["rounds"]):
        grid = next_grid(rounds[-1], settings) if rounds else first_grid(settings)
        rounds.append(try_grid(trials, settings, grid))
        trials.save()
    return rounds


def _try_sequence(trials: Trials, settings: Mapping[str, Any]) -> Round:
    """Run the trials of a quasi-random search."""
    found: list[Trial] = []
    for step, scale in quasi_random_points(settings):
        found += trials.run(step, [scale], settings["seeds"])
    trials.save()
    steps, scales = ({getattr(trial, field) for trial in found} for field in TUNED)
    grid = Grid(tuple(sorted(steps)), tuple(sorted(scales)))
    return Round(grid, dict.fromkeys(TUNED, 0), found)


def try_grid(trials: Trials, settings: Mapping[str, Any], grid: Grid) -> Round:
    """Run the trials of a grid, and extend the grid while its best point is at an edge."""
    tried: dict[Key, Trial] = {}
    extensions: Counter[Edge] = Counter()

    def run(wanted: Grid) -> None:
        for step in wanted.steps:
            found = trials.run(step, wanted.scales, settings["seeds"])
            tried.update({trial.key: trial for trial in found})

    def extendable_edges() -> list[Edge]:
        best = best_point(points(tried.values()), settings["prefer"])
        return [edge for edge in grid.edges(best) if extensions[edge] < MAX_EXTENSIONS]

    run(grid)
    while edges := extendable_edges():
        extensions[edges[0]] += 1
        grid = grid.extended(edges[0])
        run(grid)
    counts: Counter[str] = Counter(edge.field for edge in extensions.elements())
    return Round(grid, {field: counts[field] for field in TUNED}, list(tried.values()))


def next_grid(previous: Round, settings: Mapping[str, Any]) -> Grid:
    """Return the grid of the next round, as large as the first grid."""
    first, grid = first_grid(settings), previous.grid
    best = best_point(points(previous.trials), settings["prefer"])
    if best is None:  # no point worked, so try smaller steps and smaller scales
        return Grid(
            continued_below(grid.steps, len(first.steps)),
            continued_below(grid.scales, len(first.scales)),
        )
    return Grid(
        around(grid.steps, best.step, len(first.steps)),
        around(grid.scales, best.init_scale, len(first.scales)),
    )
