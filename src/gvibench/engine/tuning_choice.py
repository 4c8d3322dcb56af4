"""Choose step size and initial scale from the rounds of the tuning stage.

If the best point lies at an edge of everything tried, the choice has a note.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gvibench.engine.tuning import Round
from gvibench.engine.tuning_grid import Edge, Field, Grid, Point, best_point, points
from gvibench.store.choices import Choice, write_choice
from gvibench.store.trials import TUNED

__all__ = ["choose"]

FIELD_NAMES: dict[Field, str] = {"step": "step", "init_scale": "initial scale"}


def choose(
    rounds: Sequence[Round], out: Path, prefer: str, share: float = 1.0, iterations: int = 0
) -> Choice:
    """Choose the best point of all rounds and write it and all other points as JSON.

    Parameters
    ----------
    rounds
        Rounds, which may have trials in common.
    out
        File for the choice.
    prefer
        `safe` or `quick`, the preference among equal points.
    share
        Share of the training rows that the trials used.
    iterations
        Number of iterations of a trial that neither diverges nor converges.
    """
    trials = list({trial.key: trial for each in rounds for trial in each.trials}.values())
    summaries = points(trials)
    tried = Grid(
        tuple(sorted({point.step for point in summaries})),
        tuple(sorted({point.init_scale for point in summaries})),
    )
    extensions = {field: sum(each.extensions[field] for each in rounds) for field in TUNED}
    best = best_point(summaries, prefer)
    edges = tried.edges(best) if best else []
    failed = None if best else _no_step_worked(tried)
    notes = [_edge_note(tried, edge, extensions[edge.field]) for edge in edges]
    choice = Choice(
        step=best.step if best else tried.steps[0],
        init_scale=best.init_scale if best else tried.scales[0],
        objective=best.objective if best else None,
        trials=len(trials),
        diverged=sum(trial.status == "diverged" for trial in trials),
        iterations=sum(trial.iterations for trial in trials),
        seconds=sum(trial.seconds for trial in trials),
        note="no step worked" if failed else "; ".join(notes),
        failed=failed,
    )
    details = {
        "edges": {edge.field: edge.end for edge in edges},
        "extensions": extensions,
        "share_of_rows": share,
        "ended_early": sum(
            trial.status == "converged" and trial.iterations < iterations for trial in trials
        ),
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
