"""The grids of the tuning stage: which pairs are tried, and which of them is the best."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

__all__ = [
    "EXTENSIONS",
    "Edge",
    "Field",
    "Grid",
    "Point",
    "around",
    "best_point",
    "continued_below",
    "first_grid",
    "rounded",
    "tie_level",
]

EXTENSIONS = 4
"""How often a round extends its grid at each end, by one value at the grid's own ratio."""
MUCH_SLOWER = 10.0
"""How much longer than the quickest point a safer one may take.

A judgement, made after seeing a quicker, fragile step of VN fail on reporting seeds of the default
study: there it decides between VN at step 1 and at 0.1, and so who is quickest on `synthetic`.
"""
AS_QUICK = 1.1
"""Efforts up to this ratio count as equal between initial scales of the same step.

Far from the optimum's scale the effort changes by less and less per decade; without this rule the
best scale would always be the last one tried.
"""
SAME = 1e-3
"""Values this close (relative) are one."""
TIE = 1e-6
"""Objectives this close to the best one count as equal, relative to its size or, if that is less,
to the largest decrease: steps too small to get anywhere are not all alike."""
SMALLEST, LARGEST = 1e-100, 1e100
"""Limits of any number in a run."""

Field = Literal["step", "init_scale"]
End = Literal["smallest", "largest"]


class Edge(NamedTuple):
    """One end of one side of a grid."""

    field: Field
    end: End


@dataclass(frozen=True)
class Grid:
    """Steps and initial scales, both ascending, of which every pair is tried."""

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
        """Return the edges at which the best point lies; smaller steps are due if there is none.

        A side of one value was fixed on purpose and has no edges.
        """
        if best is None:
            return [Edge("step", "smallest")] if len(self.steps) > 1 else []
        found: list[Edge] = []
        at: dict[Field, float] = {"step": best.step, "init_scale": best.init_scale}
        for field, value in at.items():
            smallest, largest = self.side(field)[0], self.side(field)[-1]
            if smallest < largest and value in (smallest, largest):
                found.append(Edge(field, "smallest" if value == smallest else "largest"))
        return found


@dataclass(frozen=True)
class Point:
    """Result of one pair over all tuning seeds."""

    step: float
    init_scale: float
    objective: float | None
    """Mean of the final objectives; nothing if a seed diverged or failed."""
    effort: float
    """Mean number of iterations until the best objective of the round was reached."""
    start: float
    """Mean of the starting objectives."""


def first_grid(settings: Mapping[str, Any]) -> Grid:
    """Return the grid of the first round."""
    start, stop, count = (settings["steps"][key] for key in ("start", "stop", "count"))
    return Grid(_spaced(start, stop, count), tuple(sorted(settings["init_scales"])))


def continued_below(values: tuple[float, ...], count: int) -> tuple[float, ...]:
    """Continue the values downwards."""
    if len(values) == 1:
        return values
    ratio = values[0] / values[1]
    return tuple(sorted({rounded(values[0] * ratio**k) for k in range(1, count + 1)}))


def around(values: tuple[float, ...], best: float, count: int) -> tuple[float, ...]:
    """Refine around the best value, at most up to its neighbours.

    The new values are at least twice as dense as the old. At an edge, the missing neighbour is as
    far away as the other one.
    """
    if len(values) == 1:
        return values
    at = values.index(best)
    below = values[at] / values[at - 1] if at > 0 else values[1] / values[0]
    above = values[at + 1] / values[at] if at < len(values) - 1 else below
    count = max(count, 3)
    reach = min(1.0, (count - 1) / 4)
    new = _spaced(best / below**reach, best * above**reach, count)
    # Rounding must not make two values of one: 1.00001 is the 1 that was tried before.
    return tuple(sorted({_nearest(value, values) for value in new}))


def _nearest(value: float, known: tuple[float, ...]) -> float:
    close = [one for one in known if math.isclose(one, value, rel_tol=SAME)]
    return close[0] if close else value


def _spaced(start: float, stop: float, count: int) -> tuple[float, ...]:
    return tuple(sorted({rounded(value) for value in np.geomspace(start, stop, count)}))


def rounded(value: float) -> float:
    """Return a value with six digits, which are plenty for a step, within the limits of a run."""
    return min(max(float(f"{value:.6g}"), SMALLEST), LARGEST)


def tie_level(lowest: float, start: float) -> float:
    """Return the objective up to which one counts as equal to the lowest, given the worst start."""
    return lowest + TIE * max(0.0, min(1.0 + abs(lowest), start - lowest))


def best_point(tried: Iterable[Point], prefer: str) -> Point | None:
    """Return the point with the lowest objective; among equals a `safe` or the `quick` one.

    A step that arrives from one initial scale only has been lucky: the safe choice passes it over
    for one that arrives from more of them, unless that takes many times as long. Between initial
    scales from which the chosen step is about as quick, the one in the middle of all is taken.
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
