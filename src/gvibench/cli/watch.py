"""Plot the curves of running jobs in the terminal, from their checkpoints."""

import math
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gvibench.errors import UserError
from gvibench.store.checkpoints import checkpoint_objectives, checkpoint_path
from gvibench.store.optima import read_optimum
from gvibench.study.plan import Plan, RunJob
from gvibench.study.status import Progress, Tracker, headline

__all__ = ["Watcher", "chart", "watch"]

SECONDS_PER_FRAME = 2.0
CHART_ROWS = 5
MAX_WIDTH = 72
FLOOR = 1e-12
"""Smallest gap on the logarithmic axis; smaller gaps are drawn at this height."""
# Bits of the dots of a Braille character, by column and row.
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def watch(plan: Plan, *, once: bool = False) -> None:
    """Draw frames until all runs have ended, or a single frame if `once` is true."""
    watcher = Watcher(plan)
    while True:
        size = shutil.get_terminal_size()
        # On a terminal, each frame replaces the previous one and is cut to the height.
        redraw = not once and sys.stdout.isatty()
        lines = watcher.frame(min(size.columns - 1, MAX_WIDTH))
        if redraw:
            print("\x1b[H\x1b[J" + "\n".join(lines[: size.lines - 1]), flush=True)
        else:
            print("\n".join(lines), flush=True)
        if once or watcher.ended:
            return
        time.sleep(SECONDS_PER_FRAME)


class Watcher:
    """Progress of a study over time."""

    def __init__(self, plan: Plan) -> None:
        self._tracker = Tracker(plan)
        self.ended = False
        """Whether all runs had ended at the last frame."""

    def frame(self, width: int) -> list[str]:
        """Return the lines of one frame: the counts of each study and a chart per running job."""
        lines: list[str] = []
        self.ended = True
        for study, jobs in self._tracker.read().items():
            lines.append(headline(study, jobs))
            for progress in jobs:
                job = progress.job.of
                if isinstance(job, RunJob):
                    self.ended &= progress.state in {"done", "error"}
                    if progress.state == "running":
                        lines += _curve(progress, job, width)
        return lines


def _curve(progress: Progress, job: RunJob, width: int) -> Iterator[str]:
    """Yield the name of a run, its progress and, after the first checkpoint, a chart."""
    seed = job.specs[min(progress.ended, len(job.specs) - 1)].seed
    yield f"{job.dataset}, {job.solver}, {Path(job.path).parent.name}, seed {seed}"
    try:
        iteration, objective = checkpoint_objectives(checkpoint_path(Path(job.path)))
    except UserError:  # not written yet, or just removed
        yield f"  no checkpoint yet, {job.specs[0].iterations} iterations"
        return
    name, values = _gap(job, objective)
    yield f"  {name} {values[0]:.3g} -> {values[-1]:.3g}, {progress.share:.0%} done"
    heights = np.log10(np.maximum(values, FLOOR)) if name == "gap" else values
    yield from (f"  {row}" for row in chart(iteration, heights, width - 2, CHART_ROWS))


def _gap(job: RunJob, objective: np.ndarray) -> tuple[str, np.ndarray]:
    """Return the objective gap if the optimum is known, else the objective, with its name."""
    if job.optimum is None or not Path(job.optimum.path).exists():
        return "objective", objective
    optimum = read_optimum(job.optimum.path)
    if optimum.error:
        return "objective", objective
    return "gap", objective - optimum.attrs["objective"]


def chart(x: np.ndarray, y: np.ndarray, width: int, rows: int) -> list[str]:
    """Draw a curve with Braille characters, which have two by four dots each."""
    known = np.isfinite(y)
    x, y = x[known], y[known]
    cells = np.zeros((rows, width), dtype=int)
    if len(x):
        columns = np.linspace(x[0], x[-1], 2 * width)
        span = float(y.max() - y.min())
        heights = (np.interp(columns, x, y) - y.min()) / (span if span > 0 else math.inf)
        down = np.rint((1.0 - heights) * (4 * rows - 1)).astype(int)
        for column, dot in enumerate(down):
            cells[dot // 4, column // 2] |= DOTS[column % 2][dot % 4]
    return ["".join(chr(0x2800 + cell) for cell in row).rstrip("\u2800") for row in cells]
