"""Build the grids of the tuning stage and select the best point."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from gvibench.spec.fields import LARGEST, SMALLEST
from gvibench.spec.statuses import UNUSABLE
from gvibench.store.trials import Trial

__all__ = [
    "Edge",
    "Field",
    "Grid",
    "Point",
    "around",
    "best_point",
    "continued_below",
    "first_grid",
    "points",
    "quasi_random_points",
    "rounded",
    "tie_level",
]

MUCH_SLOWER = 10.0
"""Maximum effort of a safe point, as a multiple of the quickest one.

This value was set after a quicker but fragile step of VN had failed on reporting seeds of the
default study. There it decides between VN at step 1 and at 0.1, and so about the quickest solver on
`synthetic`.
"""
AS_QUICK = 1.1
"""Ratio up to which efforts from different initial scales of the same step count as equal.

Far from the optimal scale the effort hardly depends on the scale. Without this rule the best scale
would always be the last one tried.
"""
SAME = 1e-3
"""Relative difference up to which two values count as the same."""
TIE = 1e-6
"""Difference up to which objectives count as equal to the best, relative to its size or, if that is
smaller, to the largest decrease. The latter separates steps that are too small to make progress."""

Field = Literal["step", "init_scale"]
End = Literal["smallest", "largest"]


class Edge(NamedTuple):
    """One end of one side of a grid."""

    field: Field
    end: End


@dataclass(frozen=True)
class Grid:
    """Step sizes and initial scales, both ascending. Each pair is tried."""

    steps: tuple[float, ...]
    scales: tuple[float, ...]

    def side(self, field: Field) -> tuple[float, ...]:
        """Return the values of one field."""
        return self.steps if field == "step" else self.scales

    def extended(self, edge: Edge) -> "Grid":
        """Return the grid with one more value at an edge, at the ratio of the last two there."""
        values = self.side(edge.field)
        near, far = values[:2] if edge.end == "smallest" else values[:-3:-1]
        wider = tuple(sorted({*values, _nearest(rounded(near * (near / far)), values)}))
        return replace(self, **{"steps" if edge.field == "step" else "scales": wider})

    def edges(self, best: "Point | None") -> list[Edge]:
        """Return the edges at which the best point lies, or that of small steps if none worked.

        A side with one value is fixed and has no edges.
        """
        if best is None:
            return [Edge("step", "smallest")] if len(self.steps) > 1 else []
        edges: list[Edge] = []
        at: dict[Field, float] = {"step": best.step, "init_scale": best.init_scale}
        for field, value in at.items():
            smallest, largest = self.side(field)[0], self.side(field)[-1]
            if smallest < largest and value in (smallest, largest):
                edges.append(Edge(field, "smallest" if value == smallest else "largest"))
        return edges


@dataclass(frozen=True)
class Point:
    """Results of one pair over all tuning seeds."""

    step: float
    init_scale: float
    objective: float | None
    """Mean of the final objectives, None if a seed diverged or failed."""
    effort: float
    """Mean number of iterations to the best objective of the round."""
    start: float
    """Mean of the starting objectives."""


def first_grid(settings: Mapping[str, Any]) -> Grid:
    """Return the grid of the first round."""
    start, stop, count = (settings["steps"][key] for key in ("start", "stop", "count"))
    return Grid(_spaced(start, stop, count), tuple(sorted(settings["init_scales"])))


def quasi_random_points(settings: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return the step sizes and initial scales of a quasi-random search.

    Their logarithms are a Halton sequence of bases 2 and 3 in the given ranges.
    """
    steps = math.log(settings["steps"]["start"]), math.log(settings["steps"]["stop"])
    scales = [math.log(scale) for scale in settings["init_scales"]]
    first = settings["first_trial"]
    indices = range(first + 1, first + settings["trials"] + 1)
    found = [(_between(steps, index, 2), _between(scales, index, 3)) for index in indices]
    if min(scales) == max(scales):  # rounding must not change a fixed scale
        found = [(step, settings["init_scales"][0]) for step, _ in found]
    return found


def _between(logarithms: Iterable[float], index: int, base: int) -> float:
    low, high = min(logarithms), max(logarithms)
    return rounded(math.exp(low + radical_inverse(index, base) * (high - low)))


def radical_inverse(index: int, base: int) -> float:
    """Return the number in (0, 1) whose digits are those of `index` in reverse order."""
    value, weight = 0.0, 1.0 / base
    while index:
        index, digit = divmod(index, base)
        value, weight = value + digit * weight, weight / base
    return value


def continued_below(values: tuple[float, ...], count: int) -> tuple[float, ...]:
    """Return `count` smaller values at the same ratio."""
    if len(values) == 1:
        return values
    ratio = values[0] / values[1]
    return tuple(sorted({rounded(values[0] * ratio**k) for k in range(1, count + 1)}))


def around(values: tuple[float, ...], best: float, count: int) -> tuple[float, ...]:
    """Return a finer grid around the best value, at most up to its neighbours.

    The new values are at least twice as dense as the old ones. At an edge, the distance to the
    missing neighbour is taken to be the same as to the other one.
    """
    if len(values) == 1:
        return values
    at = values.index(best)
    below = values[at] / values[at - 1] if at > 0 else values[1] / values[0]
    above = values[at + 1] / values[at] if at < len(values) - 1 else below
    count = max(count, 3)
    reach = min(1.0, (count - 1) / 4)
    new = _spaced(best / below**reach, best * above**reach, count)
    # Rounding must not create a second value: 1.00001 is the 1 that was tried before.
    return tuple(sorted({_nearest(value, values) for value in new}))


def _nearest(value: float, known: tuple[float, ...]) -> float:
    close = [other for other in known if math.isclose(other, value, rel_tol=SAME)]
    return close[0] if close else value


def _spaced(start: float, stop: float, count: int) -> tuple[float, ...]:
    return tuple(sorted({rounded(value) for value in np.geomspace(start, stop, count)}))


def rounded(value: float) -> float:
    """Round a value to six digits and to the range of valid numbers."""
    return min(max(float(f"{value:.6g}"), SMALLEST), LARGEST)


def tie_level(lowest: float, start: float) -> float:
    """Return the objective up to which points count as equal to the lowest one."""
    return lowest + TIE * max(0.0, min(1.0 + abs(lowest), start - lowest))


def best_point(tried: Iterable[Point], prefer: str) -> Point | None:
    """Return the point with the lowest objective; among equals a `safe` or the `quick` one.

    The safe choice prefers steps that reach the objective from more initial scales, unless they
    take many times as long. Among initial scales from which the chosen step is about as quick, the
    central one is taken.
    """
    tried = list(tried)
    usable = [point for point in tried if point.objective is not None]
    if not usable:
        return None
    lowest = min(point.objective for point in usable if point.objective is not None)
    level = tie_level(lowest, max(point.start for point in usable))
    equals = [p for p in usable if p.objective is not None and p.objective <= level]
    if prefer == "quick":
        best = min(equals, key=lambda point: (point.effort, point.step))
    else:
        arrivals = Counter(point.step for point in equals)
        quick = MUCH_SLOWER * min(point.effort for point in equals)
        candidates = [point for point in equals if point.effort <= quick]
        best = min(candidates, key=lambda point: (-arrivals[point.step], point.effort, point.step))
    scales = [math.log(point.init_scale) for point in tried]
    middle = 0.5 * (min(scales) + max(scales))
    as_quick = [p for p in equals if p.step == best.step and p.effort <= AS_QUICK * best.effort]
    return min(as_quick, key=lambda p: (abs(math.log(p.init_scale) - middle), p.effort))


def points(trials: Iterable[Trial]) -> list[Point]:
    """Return one summary per step and scale, over all seeds."""
    by_pair: dict[tuple[float, float], list[Trial]] = {}
    for trial in trials:
        by_pair.setdefault((trial.step, trial.init_scale), []).append(trial)
    usable = [trial for group in by_pair.values() for trial in group if not _unusable(trial)]
    curves = [trial.objective for trial in usable]
    lowest = min((curve[-1] for curve in curves), default=-math.inf)
    level = tie_level(lowest, max((curve[0] for curve in curves), default=-math.inf))
    return [
        Point(
            step,
            scale,
            None if any(map(_unusable, group)) else _mean(group, -1),
            float(np.mean([_iterations_to(trial, level) for trial in group])),
            _mean(group, 0),
        )
        for (step, scale), group in by_pair.items()
    ]


def _unusable(trial: Trial) -> bool:
    return trial.status in UNUSABLE


def _mean(trials: list[Trial], record: int) -> float:
    return float(np.mean([trial.objective[record] for trial in trials]))


def _iterations_to(trial: Trial, level: float) -> float:
    above = np.flatnonzero(trial.objective > level)
    # A run reaches a level at the first record from which on it stays below the level.
    first = above[-1] + 1 if len(above) else 0
    return float(trial.iteration[first]) if first < len(trial.iteration) else math.inf
