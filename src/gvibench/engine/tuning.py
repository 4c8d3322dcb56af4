"""Tune step size and initial scale of one solver on one data set.

A round tries a grid of step sizes × initial scales with each tuning seed. While the best point lies
at an edge of the grid, the round extends the grid there, up to a limit. The next round refines the
grid around the best point. After a fixed number of rounds, `gvibench.engine.tuning_choice` chooses
the best point.

A point is excluded if one of its trials diverged or ended above its starting objective. Points are
compared by the mean of their final objectives over the tuning seeds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gvibench.engine.lockstep import execute_lockstep
from gvibench.engine.tuning_grid import (
    Edge,
    Grid,
    around,
    best_point,
    continued_below,
    first_grid,
    points,
)
from gvibench.spec.run import RunSpec
from gvibench.spec.tuning import MAX_EXTENSIONS
from gvibench.store.prepared import Prepared
from gvibench.store.traces import Trace
from gvibench.store.tuning_rounds import TUNED, Round, read_round, write_round

__all__ = ["next_grid", "try_grid"]


def try_grid(
    template: Mapping[str, Any],
    settings: Mapping[str, Any],
    grid: Grid,
    data: Prepared,
    out: Path,
    code_hash: str = "",
) -> None:
    """Run the trials of a grid, extend the grid while its best point is at an edge, and write them.

    Parameters
    ----------
    template
        Spec of a trial; its step, initial scale and seed are replaced.
    settings
        Settings of the study's tuning stage.
    grid
        Step sizes and initial scales to start with.
    data
        Prepared data.
    out
        File for the round.
    code_hash
        Hash of the code, stored in the traces.
    """
    part, share = _subsample(data, settings["rows"])
    traces: dict[str, Trace] = {}
    extensions: Counter[Edge] = Counter()

    def run(wanted: Grid) -> None:
        for step in wanted.steps:
            specs = _trials(template, settings["seeds"], step, wanted.scales, share)
            new = {name: spec for name, spec in specs.items() if name not in traces}
            results = execute_lockstep(list(new.values()), part, code_hash=code_hash)
            traces.update(zip(new, results, strict=True))

    def extendable_edges() -> list[Edge]:
        best = best_point(points(traces.values(), share), settings["prefer"])
        return [edge for edge in grid.edges(best) if extensions[edge] < MAX_EXTENSIONS]

    run(grid)
    while edges := extendable_edges():
        extensions[edges[0]] += 1
        grid = grid.extended(edges[0])
        run(grid)
    counts: Counter[str] = Counter(edge.field for edge in extensions.elements())
    tuning_round = Round(
        grid.steps,
        grid.scales,
        share,
        {field: counts[field] for field in TUNED},
        list(traces.values()),
    )
    write_round(out, tuning_round, list(traces))


def _trials(
    template: Mapping[str, Any],
    seeds: Iterable[int],
    step: float,
    scales: Iterable[float],
    share: float,
) -> dict[str, RunSpec]:
    """Return the trials of a step size with each initial scale and each seed, by name."""
    # The loss of a share of the rows is about that share of the whole loss. With beta and gamma
    # multiplied by the share and steps divided by it, each solver takes the path that it would take
    # on the whole problem if each of these rows occurred several times.
    scaled = {name: share * template[name] for name in ("beta", "gamma")}
    fixed = {**template, **scaled, "step": step / share}
    return {
        f"step-{step!r}_scale-{scale!r}_seed-{seed}": RunSpec.from_dict(
            {**fixed, "init_scale": scale, "seed": seed}
        )
        for scale in scales
        for seed in seeds
    }


def _subsample(data: Prepared, rows: int | None) -> tuple[Prepared, float]:
    """Return the data with at most `rows` training rows, and their share of all rows."""
    total = len(data.train_y)
    if rows is None or rows >= total:
        return data, 1.0
    rng = np.random.default_rng([data.spec.split_seed, total, rows])
    picked = np.sort(rng.choice(total, rows, replace=False))
    part = replace(data, train_x=data.train_x[picked], train_y=data.train_y[picked])
    return part, rows / total


def next_grid(path: Path, settings: Mapping[str, Any]) -> Grid:
    """Return the grid of the round after the one in `path`, as large as the first grid."""
    previous = read_round(path)
    first = first_grid(settings)
    best = best_point(points(previous.traces, previous.share), settings["prefer"])
    if best is None:  # no point worked, so try smaller steps and smaller scales
        return Grid(
            continued_below(previous.steps, len(first.steps)),
            continued_below(previous.scales, len(first.scales)),
        )
    return Grid(
        around(previous.steps, best.step, len(first.steps)),
        around(previous.scales, best.init_scale, len(first.scales)),
    )
