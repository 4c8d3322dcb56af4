"""Tune step size and initial scale of one solver on one data set.

A round tries a grid of step sizes × initial scales with each tuning seed. While the best point lies
at an edge of the grid, the round extends the grid there, up to a limit. The next round refines the
grid around the best point. After a fixed number of rounds the best point is chosen. If it still
lies at an edge of everything tried, the choice has a note.

A point is excluded if one of its trials diverged or ended above its starting objective. Points are
compared by the mean of their final objectives over the tuning seeds.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from gvibench.engine.lockstep import execute_lockstep
from gvibench.engine.tuning_grid import (
    Edge,
    Field,
    Grid,
    Point,
    around,
    best_point,
    continued_below,
    first_grid,
    rounded,
    tie_level,
)
from gvibench.spec.run import RunSpec
from gvibench.spec.statuses import UNUSABLE
from gvibench.spec.tuning import MAX_EXTENSIONS
from gvibench.store.choices import Choice, write_choice
from gvibench.store.prepared import Prepared
from gvibench.store.traces import Trace
from gvibench.store.tuning_rounds import TUNED, Round, read_round, write_round

__all__ = ["choose", "next_grid", "points", "try_grid"]

FIELD_NAMES: dict[Field, str] = {"step": "step", "init_scale": "initial scale"}


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
    counts = Counter(edge.field for edge in extensions.elements())
    tuning_round = Round(
        grid.steps,
        grid.scales,
        share,
        {field: counts[field] for field in FIELD_NAMES},
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


def points(traces: Iterable[Trace], share: float = 1.0) -> list[Point]:
    """Return one summary per step and scale, over all seeds.

    Steps on a share of the rows are converted to steps on all rows.
    """
    by_pair: dict[tuple[float, float], list[Trace]] = {}
    for trace in traces:
        step, scale = rounded(share * trace.spec["step"]), trace.spec["init_scale"]
        by_pair.setdefault((step, scale), []).append(trace)
    usable = [trace for group in by_pair.values() for trace in group if not _unusable(trace)]
    curves = [trace.scalars["objective"] for trace in usable]
    lowest = min((curve[-1] for curve in curves), default=-math.inf)
    level = tie_level(lowest, max((curve[0] for curve in curves), default=-math.inf))
    return [
        Point(
            step,
            scale,
            None if any(map(_unusable, group)) else _mean(group, -1),
            float(np.mean([_iterations_to(trace, level) for trace in group])),
            _mean(group, 0),
        )
        for (step, scale), group in by_pair.items()
    ]


def _unusable(trace: Trace) -> bool:
    return trace.attrs["status"] in UNUSABLE


def _mean(traces: list[Trace], record: int) -> float:
    return float(np.mean([trace.scalars["objective"][record] for trace in traces]))


def _iterations_to(trace: Trace, level: float) -> float:
    above = np.flatnonzero(trace.scalars["objective"] > level)
    # A run reaches a level at the first record from which on it stays below the level.
    first = above[-1] + 1 if len(above) else 0
    return float(trace.iteration[first]) if first < len(trace.iteration) else math.inf


def choose(rounds: Sequence[Path], out: Path, prefer: str) -> Choice:
    """Choose the best point of all rounds and write it and all other points as JSON."""
    contents = [read_round(path) for path in rounds]
    traces = [trace for tuning_round in contents for trace in tuning_round.traces]
    share = contents[0].share
    summaries = points(traces, share)
    tried = Grid(
        tuple(sorted({point.step for point in summaries})),
        tuple(sorted({point.init_scale for point in summaries})),
    )
    extensions = {field: sum(r.extensions[field] for r in contents) for field in TUNED}
    best = best_point(summaries, prefer)
    edges = tried.edges(best) if best else []
    failed = None if best else _no_step_worked(tried)
    notes = [_edge_note(tried, edge, extensions[edge.field]) for edge in edges]
    choice = Choice(
        step=best.step if best else tried.steps[0],
        init_scale=best.init_scale if best else tried.scales[0],
        objective=best.objective if best else None,
        trials=len(traces),
        diverged=sum(trace.attrs["status"] == "diverged" for trace in traces),
        iterations=sum(int(trace.attrs["iterations_done"]) for trace in traces),
        seconds=float(sum(trace.scalars["seconds"][-1] for trace in traces)),
        note="no step worked" if failed else "; ".join(notes),
        failed=failed,
    )
    details = {
        "edges": {edge.field: edge.end for edge in edges},
        "extensions": extensions,
        "share_of_rows": share,
        "points": [_point_row(point) for point in sorted(summaries, key=_by_scale_and_step)],
    }
    write_choice(out, choice, details)
    return choice


def _by_scale_and_step(point: Point) -> tuple[float, float]:
    return point.init_scale, point.step


def _point_row(point: Point) -> dict[str, Any]:
    return {**asdict(point), "effort": point.effort if math.isfinite(point.effort) else None}


def _edge_note(tried: Grid, edge: Edge, extensions: int) -> str:
    value = tried.side(edge.field)[0 if edge.end == "smallest" else -1]
    after = f", after {extensions} extension{'s' * (extensions > 1)}" if extensions else ""
    return f"{FIELD_NAMES[edge.field]} {value:g} is the {edge.end} tried{after}"


def _no_step_worked(tried: Grid) -> str:
    steps, scales = (_range(values) for values in (tried.steps, tried.scales))
    return (
        f"no step worked: with each step tried ({steps}) and each initial scale ({scales}), a run "
        "diverged or ended above its starting objective"
    )


def _range(values: tuple[float, ...]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"
