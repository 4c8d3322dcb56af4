"""The tuning stage: each solver's step and initial scale, on its own, at an equal budget.

A round tries a grid of steps × initial scales with every tuning seed. The next round refines the
grid around the best point, or moves it when that point is at an edge. After a fixed number of
rounds the best point is the choice.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gvibench.datasets.prepared import Prepared
from gvibench.errors import UserError
from gvibench.files import atomic_path
from gvibench.loop import execute_together
from gvibench.optimum import find_optimum
from gvibench.spec import ProblemSpec, RunSpec, parse
from gvibench.traces import Trace, to_group, trace_from_group
from gvibench.zarrzip import Group, open_zip, write_zip

__all__ = [
    "Choice",
    "choose",
    "choose_beta",
    "first_grid",
    "next_grid",
    "read_choice",
    "read_choices",
    "try_grid",
]

KIND = "gvibench tuning round"
CHOSEN = ("step", "init_scale", "beta")
"""The fields of a run that this stage can choose."""
MUCH_SLOWER = 10.0
"""How much longer than the quickest point a safer one may take.

A judgement, made after seeing a quicker, fragile step of VN fail on reporting seeds of the default
study: there it decides between VN at step 1 and at 0.1, and so who is quickest on `synthetic`.
"""
TIE = 1e-6
"""Objectives this close to the best one (relative) count as reached."""


@dataclass(frozen=True)
class Grid:
    """Steps and initial scales, both ascending, of which every pair is tried."""

    steps: tuple[float, ...]
    scales: tuple[float, ...]


@dataclass(frozen=True)
class Point:
    """What became of one pair over all tuning seeds."""

    step: float
    init_scale: float
    objective: float | None
    """Mean of the final objectives; nothing if a seed diverged."""
    effort: float
    """Mean number of iterations until the best objective of the round was reached."""


@dataclass(frozen=True)
class Choice:
    """The chosen pair, and what it cost to find."""

    step: float
    init_scale: float
    objective: float
    trials: int
    diverged: int
    iterations: int
    seconds: float


def first_grid(settings: Mapping[str, Any]) -> Grid:
    """Return the grid of the first round."""
    start, stop, count = (settings["steps"][key] for key in ("start", "stop", "count"))
    return Grid(_spaced(start, stop, count), tuple(sorted(settings["init_scales"])))


def try_grid(
    template: Mapping[str, Any],
    settings: Mapping[str, Any],
    grid: Grid,
    data: Prepared,
    out: Path,
    code_hash: str | None = None,
) -> None:
    """Run every trial of a grid and write their traces into one file, a group for each."""
    part, share = _part_of_rows(data, settings["rows"])
    root = Group(
        {
            "kind": KIND,
            "steps": list(grid.steps),
            "scales": list(grid.scales),
            "share_of_rows": share,
        }
    )
    # The loss of a share of the rows is about that share of the whole one. With beta and gamma
    # multiplied by it too, and steps divided by it, every solver takes the path that it would take
    # on the whole problem with each of these rows counting for several.
    scaled = {name: share * template[name] for name in ("beta", "gamma")}
    for i, step in enumerate(grid.steps):
        fixed = {**template, **scaled, "step": step / share}
        specs = {
            f"step-{i}_scale-{j}_seed-{seed}": parse(
                RunSpec, {**fixed, "init_scale": scale, "seed": seed}, "tuning"
            )
            for j, scale in enumerate(grid.scales)
            for seed in settings["seeds"]
        }
        traces = execute_together(list(specs.values()), part, code_hash=code_hash)
        for name, trace in zip(specs, traces, strict=True):
            root.groups[name] = to_group(trace)
    write_zip(out, root)


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
    traces: list[Trace]


def read_round(path: Path) -> Round:
    """Read the file of `try_grid`."""
    with open_zip(path) as root:
        if root.attrs.get("kind") != KIND:
            raise UserError(f"{path} is not a tuning round of gvibench: make the file again")
        try:
            steps, scales = (tuple(map(float, root.attrs[name])) for name in ("steps", "scales"))
            share = float(root.attrs["share_of_rows"])
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path} lacks its grid ({error}): make the file again") from error
        traces = [trace_from_group(root.group(name), f"{path} {name}") for name in root.names()]
        return Round(Grid(steps, scales), share, traces)


def next_grid(path: Path, prefer: str) -> Grid:
    """Return the grid that follows the round in `path`."""
    grid, share, traces = read_round(path)
    best = best_point(points(traces, share), prefer)
    if best is None:  # everything diverged: smaller steps from smaller scales
        return Grid(_around(grid.steps, grid.steps[0]), tuple(0.1 * scale for scale in grid.scales))
    return Grid(_around(grid.steps, best.step), _around(grid.scales, best.init_scale))


def _around(values: tuple[float, ...], best: float) -> tuple[float, ...]:
    """Refine between the neighbours of the best value, or centre on it if it is at an edge."""
    count = len(values)
    if count == 1:
        return values
    at = values.index(best)
    if 0 < at < count - 1:
        return _spaced(values[at - 1], values[at + 1], count)
    reach = (values[-1] / values[0]) ** 0.5
    return _spaced(best / reach, best * reach, count)


def _spaced(start: float, stop: float, count: int) -> tuple[float, ...]:
    return tuple(_rounded(value) for value in np.geomspace(start, stop, count))


def _rounded(value: float) -> float:
    # Six digits are plenty for a step, and keep it readable.
    return float(f"{value:.6g}")


def points(traces: Iterable[Trace], share: float = 1.0) -> list[Point]:
    """Summarise trials on a share of the rows over their seeds; steps are those for all rows."""
    by_pair: dict[tuple[float, float], list[Trace]] = {}
    for trace in traces:
        step, scale = _rounded(share * trace.spec["step"]), trace.spec["init_scale"]
        by_pair.setdefault((step, scale), []).append(trace)
    finals = [trace.scalars["objective"][-1] for group in by_pair.values() for trace in group]
    finished = [value for value in finals if math.isfinite(value)]
    level = min(finished, default=math.inf)
    level += TIE * (1.0 + abs(level))
    return [
        Point(
            step,
            scale,
            None if any(_diverged(trace) for trace in group) else _mean_final(group),
            float(np.mean([_iterations_to(trace, level) for trace in group])),
        )
        for (step, scale), group in by_pair.items()
    ]


def _diverged(trace: Trace) -> bool:
    return bool(trace.attrs["status"] == "diverged")


def _mean_final(traces: list[Trace]) -> float:
    return float(np.mean([trace.scalars["objective"][-1] for trace in traces]))


def _iterations_to(trace: Trace, level: float) -> float:
    above = np.flatnonzero(trace.scalars["objective"] > level)
    arrived = above[-1] + 1 if len(above) else 0  # to reach a level is to stay there
    return float(trace.iteration[arrived]) if arrived < len(trace.iteration) else math.inf


def best_point(tried: Iterable[Point], prefer: str) -> Point | None:
    """Return the point with the lowest objective; among equals a `safe` or the `quick` one.

    A step that arrives from one initial scale only has been lucky: the safe choice passes it over
    for one that arrives from more of them, unless that takes many times as long.
    """
    usable = [point for point in tried if point.objective is not None]
    if not usable:
        return None
    lowest = min(point.objective for point in usable if point.objective is not None)
    level = lowest + TIE * (1.0 + abs(lowest))
    equals = [p for p in usable if p.objective is not None and p.objective <= level]
    if prefer == "quick":
        return min(equals, key=lambda point: (point.effort, point.step))
    arrivals = Counter(point.step for point in equals)
    quick = MUCH_SLOWER * min(point.effort for point in equals)
    candidates = [point for point in equals if point.effort <= quick]
    return min(candidates, key=lambda point: (-arrivals[point.step], point.effort, point.step))


def choose(rounds: Sequence[Path], out: Path, prefer: str, who: str) -> Choice:
    """Choose the best point of all rounds and write it, with all points tried, as JSON."""
    read = [read_round(path) for path in rounds]
    traces = [trace for one in read for trace in one.traces]
    share = read[0].share
    tried = points(traces, share)
    best = best_point(tried, prefer)
    if best is None or best.objective is None:
        raise UserError(f"{who}: every step tried diverged: let tuning.steps start lower")
    choice = Choice(
        step=best.step,
        init_scale=best.init_scale,
        objective=best.objective,
        trials=len(traces),
        diverged=sum(map(_diverged, traces)),
        iterations=sum(int(trace.attrs["iterations_done"]) for trace in traces),
        seconds=float(sum(trace.scalars["seconds"][-1] for trace in traces)),
    )
    table = [
        {**asdict(point), "effort": point.effort if math.isfinite(point.effort) else None}
        for point in sorted(tried, key=lambda point: (point.init_scale, point.step))
    ]
    with atomic_path(out) as part:
        found = {**asdict(choice), "share_of_rows": share, "points": table}
        part.write_text(json.dumps(found, indent=1) + "\n")
    return choice


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
    losses: dict[float, float] = {}
    for beta in betas:
        spec = parse(ProblemSpec, {**template, "beta": beta}, "tuning of beta")
        optimum = find_optimum(spec, part, code_hash=code_hash)
        losses[beta] = optimum.attrs["test_nll"] / len(held_out)
    best = min(losses, key=lambda beta: (losses[beta], beta))
    table = [{"beta": beta, "validation_nll": loss} for beta, loss in losses.items()]
    with atomic_path(out) as written:
        written.write_text(json.dumps({"beta": best, "tried": table}, indent=1) + "\n")
    return best


def read_choices(paths: Iterable[Path]) -> dict[str, float]:
    """Return the fields of a run that the given files have chosen."""
    chosen: dict[str, float] = {}
    for path in paths:
        values = _read_numbers(path)
        chosen |= {name: values[name] for name in CHOSEN if name in values}
    return chosen


def read_choice(path: Path) -> Choice:
    """Read the file of `choose`."""
    values = _read_numbers(path)
    if missing := [name for name in Choice.__dataclass_fields__ if name not in values]:
        raise UserError(
            f"{path} is not a choice of the tuning stage (no number '{missing[0]}'): delete it and "
            "choose again"
        )
    return Choice(**{name: values[name] for name in Choice.__dataclass_fields__})


def _read_numbers(path: Path) -> dict[str, Any]:
    """Return the numbers of a choice, by name."""
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path} is not a choice of the tuning stage ({error}): delete it and choose again"
        ) from error
    if not isinstance(values, dict):
        raise UserError(
            f"{path} is not a choice of the tuning stage (no mapping): delete it and choose again"
        )
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
