"""The tuning stage: each solver's step and initial scale, on its own, at an equal budget.

A round tries a grid of steps × initial scales with every tuning seed. As long as the best point
lies at an edge of the grid, the round extends the grid there, up to a limit. The next round refines
the grid around the best point. After a fixed number of rounds the best point is the choice; one
that still lies at an edge of everything tried is noted as such.

A trial that diverged or ended above its starting objective rules its point out. Points are compared
by the mean of their final objectives over the tuning seeds.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gvibench.engine.execute import execute_lockstep
from gvibench.engine.optimum import NoOptimumError, find_optimum
from gvibench.engine.tuning_grid import (
    EXTENSIONS,
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
from gvibench.errors import UserError
from gvibench.spec.endings import UNUSABLE
from gvibench.spec.run import ProblemSpec, RunSpec, parse
from gvibench.store.choices import Choice, write_choice
from gvibench.store.files import atomic_path
from gvibench.store.prepared import Prepared
from gvibench.store.traces import Trace, to_group, trace_from_group
from gvibench.store.zarrzip import Group, open_zip, write_zip

__all__ = [
    "choose",
    "choose_beta",
    "next_grid",
    "points",
    "read_round",
    "try_grid",
]

KIND = "gvibench tuning round"
NAMES: dict[Field, str] = {"step": "step", "init_scale": "initial scale"}


def try_grid(
    template: Mapping[str, Any],
    settings: Mapping[str, Any],
    grid: Grid,
    data: Prepared,
    out: Path,
    code_hash: str | None = None,
) -> None:
    """Run every trial of a grid, extend it where the best point lies at an edge, and write them.

    The file holds one group per trial. No pair is run twice.
    """
    part, share = _part_of_rows(data, settings["rows"])
    groups: dict[str, Trace] = {}
    extensions: Counter[Edge] = Counter()

    def run(wanted: Grid) -> None:
        for step in wanted.steps:
            specs = _trials(template, settings["seeds"], step, wanted.scales, share)
            new = {name: spec for name, spec in specs.items() if name not in groups}
            groups.update(
                zip(
                    new,
                    execute_lockstep(list(new.values()), part, code_hash=code_hash),
                    strict=True,
                )
            )

    def edges_left() -> list[Edge]:
        best = best_point(points(groups.values(), share), settings["prefer"])
        return [edge for edge in grid.edges(best) if extensions[edge] < EXTENSIONS]

    run(grid)
    while edges := edges_left():
        extensions[edges[0]] += 1
        grid = grid.extended(edges[0])
        run(grid)
    counts = Counter(edge.field for edge in extensions.elements())
    root = Group(
        {
            "kind": KIND,
            "steps": list(grid.steps),
            "scales": list(grid.scales),
            "share_of_rows": share,
            "extensions": {field: counts[field] for field in NAMES},
        }
    )
    for name, trace in groups.items():
        root.groups[name] = to_group(trace)
    write_zip(out, root)


def _trials(
    template: Mapping[str, Any],
    seeds: Iterable[int],
    step: float,
    scales: Iterable[float],
    share: float,
) -> dict[str, RunSpec]:
    """Return the runs that try a step from each scale with each seed, by name."""
    # The loss of a share of the rows is about that share of the whole one. With beta and gamma
    # multiplied by it too, and steps divided by it, every solver takes the path that it would take
    # on the whole problem with each of these rows counting for several.
    scaled = {name: share * template[name] for name in ("beta", "gamma")}
    fixed = {**template, **scaled, "step": step / share}
    return {
        f"step-{step!r}_scale-{scale!r}_seed-{seed}": parse(
            RunSpec, {**fixed, "init_scale": scale, "seed": seed}, "tuning"
        )
        for scale in scales
        for seed in seeds
    }


def _part_of_rows(data: Prepared, rows: int | None) -> tuple[Prepared, float]:
    """Return the data with so many training rows, and which share of all they are."""
    every = len(data.train_y)
    if rows is None or rows >= every:
        return data, 1.0
    rng = np.random.default_rng([data.spec.split_seed, every, rows])
    picked = np.sort(rng.choice(every, rows, replace=False))
    part = replace(data, train_x=data.train_x[picked], train_y=data.train_y[picked])
    return part, rows / every


class Round(NamedTuple):
    """What a round tried, on which share of the training rows, and what came of it."""

    grid: Grid
    share: float
    extensions: dict[Field, int]
    """How often the grid was extended, by field."""
    traces: list[Trace]


def read_round(path: Path) -> Round:
    """Read the file of `try_grid`."""
    with open_zip(path) as root:
        if root.attrs.get("kind") != KIND:
            raise UserError(f"{path} is not a tuning round of gvibench: make the file again")
        try:
            steps, scales = (tuple(map(float, root.attrs[name])) for name in ("steps", "scales"))
            share = float(root.attrs["share_of_rows"])
            extensions = {field: int(root.attrs["extensions"][field]) for field in NAMES}
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path} lacks its grid ({error}): make the file again") from error
        traces = [trace_from_group(root.group(name), f"{path} {name}") for name in root.names()]
        return Round(Grid(steps, scales), share, extensions, traces)


def next_grid(path: Path, settings: Mapping[str, Any]) -> Grid:
    """Return the grid that follows the round in `path`, as large as the first one."""
    done = read_round(path)
    first = first_grid(settings)
    best = best_point(points(done.traces, done.share), settings["prefer"])
    if best is None:  # nothing worked: smaller steps from smaller scales
        return Grid(
            continued_below(done.grid.steps, len(first.steps)),
            continued_below(done.grid.scales, len(first.scales)),
        )
    return Grid(
        around(done.grid.steps, best.step, len(first.steps)),
        around(done.grid.scales, best.init_scale, len(first.scales)),
    )


def points(traces: Iterable[Trace], share: float = 1.0) -> list[Point]:
    """Summarise trials on a share of the rows over their seeds; steps are those for all rows."""
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
    arrived = above[-1] + 1 if len(above) else 0  # to reach a level is to stay there
    return float(trace.iteration[arrived]) if arrived < len(trace.iteration) else math.inf


def choose(rounds: Sequence[Path], out: Path, prefer: str) -> Choice:
    """Choose the best point of all rounds and write it, with all points tried, as JSON."""
    read = [read_round(path) for path in rounds]
    traces = [trace for one in read for trace in one.traces]
    share = read[0].share
    tried = points(traces, share)
    everything = Grid(
        tuple(sorted({point.step for point in tried})),
        tuple(sorted({point.init_scale for point in tried})),
    )
    extensions = {field: sum(one.extensions[field] for one in read) for field in NAMES}
    best = best_point(tried, prefer)
    edges = everything.edges(best) if best else []
    failed = None if best else _no_step_worked(everything)
    notes = [_edge_note(everything, edge, extensions[edge.field]) for edge in edges]
    choice = Choice(
        step=best.step if best else everything.steps[0],
        init_scale=best.init_scale if best else everything.scales[0],
        objective=best.objective if best else None,
        trials=len(traces),
        diverged=sum(trace.attrs["status"] == "diverged" for trace in traces),
        iterations=sum(int(trace.attrs["iterations_done"]) for trace in traces),
        seconds=float(sum(trace.scalars["seconds"][-1] for trace in traces)),
        note="no step worked" if failed else "; ".join(notes),
        failed=failed,
    )
    table = [
        {**asdict(point), "effort": point.effort if math.isfinite(point.effort) else None}
        for point in sorted(tried, key=lambda point: (point.init_scale, point.step))
    ]
    details = {
        "edges": {edge.field: edge.end for edge in edges},
        "extensions": extensions,
        "share_of_rows": share,
        "points": table,
    }
    write_choice(out, choice, details)
    return choice


def _edge_note(tried: Grid, edge: Edge, extensions: int) -> str:
    value = tried.side(edge.field)[0 if edge.end == "smallest" else -1]
    after = f", after {extensions} extension{'s' * (extensions > 1)}" if extensions else ""
    return f"{NAMES[edge.field]} {value:g} is the {edge.end} tried{after}"


def _no_step_worked(tried: Grid) -> str:
    steps, scales = (_range(values) for values in (tried.steps, tried.scales))
    return (
        f"no step worked: with each step tried ({steps}) and each initial scale ({scales}), a run "
        "diverged or ended above its starting objective"
    )


def _range(values: tuple[float, ...]) -> str:
    return f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"


def choose_beta(
    template: Mapping[str, Any],
    betas: Sequence[float],
    data: Prepared,
    out: Path,
    code_hash: str | None = None,
) -> float:
    """Choose beta by the expected log-loss on a fifth of the training rows, held out.

    Each candidate is judged at its own optimum, so that no solver has a say; the test rows have
    none either.
    """
    order = np.random.default_rng([data.spec.split_seed, len(data.train_y)]).permutation(
        len(data.train_y)
    )
    held_out, rest = np.split(order, [max(1, len(order) // 5)])
    part = replace(
        data,
        train_x=data.train_x[rest],
        train_y=data.train_y[rest],
        test_x=data.train_x[held_out],
        test_y=data.train_y[held_out],
    )
    tried = [
        _validated(
            parse(ProblemSpec, {**template, "beta": beta}, "tuning of beta"), part, code_hash
        )
        for beta in sorted(betas)
    ]
    found = [one for one in tried if one["validation_nll"] is not None]
    if not found:
        raise UserError(
            f"beta cannot be tuned, because no candidate has an optimum: {tried[0]['error']}"
        )
    best = min(found, key=lambda one: (one["validation_nll"], one["beta"]))["beta"]
    ends = {tried[0]["beta"]: "smallest", tried[-1]["beta"]: "largest"}
    chosen = {"beta": best, "edge": ends.get(best) if len(tried) > 1 else None, "tried": tried}
    with atomic_path(out) as written:
        written.write_text(json.dumps(chosen, indent=1) + "\n")
    return float(best)


def _validated(spec: ProblemSpec, part: Prepared, code_hash: str | None) -> dict[str, Any]:
    """Return the expected log-loss per held-out row at the optimum of a beta."""
    try:
        optimum = find_optimum(spec, part, code_hash=code_hash)
        loss = optimum.attrs["test_nll"] / len(part.test_y)
    except NoOptimumError as error:
        return {"beta": spec.beta, "validation_nll": None, "error": str(error)}
    return {"beta": spec.beta, "validation_nll": loss}
