"""The curves of a study's running jobs, drawn in the terminal from their checkpoints."""

import math
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gvibench.engine.checkpointing import checkpoint_objectives, checkpoint_path
from gvibench.engine.optimum import read_optimum
from gvibench.errors import UserError
from gvibench.study.inventory import Job, jobs_of
from gvibench.study.plan import Plan, RunJob
from gvibench.study.status import Progress, headline, progress_of_job

__all__ = ["Watcher", "chart", "watch"]

SECONDS = 2.0
"""Between two frames; a run writes a checkpoint less often."""
CHART_ROWS = 5
WIDEST = 72
FLOOR = 1e-12
"""A gap below this is drawn at it."""
# The dots of a Braille character, by column and row.
DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


def watch(plan: Plan, *, once: bool = False) -> None:
    """Draw frame after frame until every run has ended, or one frame only."""
    watcher = Watcher(plan)
    while True:
        size = shutil.get_terminal_size()
        # On a terminal the frame takes the place of the one before, and no more than fits.
        redraw = not once and sys.stdout.isatty()
        lines = watcher.frame(min(size.columns - 1, WIDEST))
        if redraw:
            print("\x1b[H\x1b[J" + "\n".join(lines[: size.lines - 1]), flush=True)
        else:
            print("\n".join(lines), flush=True)
        if once or watcher.ended:
            return
        time.sleep(SECONDS)


class Watcher:
    """Looks at a study again and again; what is done is not looked at again."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._settled: dict[str, Progress] = {}
        self.ended = False
        """Whether the last frame had nothing left to wait for."""

    def frame(self, width: int) -> list[str]:
        """Return the lines of one frame: counts of every study, a chart of every running job."""
        lines: list[str] = []
        self.ended = True
        for study in self._plan.config.studies:
            found = [self._look(job) for job in jobs_of(self._plan, study)]
            lines.append(headline(study, found))
            for progress in found:
                job = progress.job.of
                if isinstance(job, RunJob):
                    self.ended &= progress.state in {"done", "error"}
                    if progress.state == "running":
                        lines += _curve(progress, job, width)
        return lines

    def _look(self, job: Job) -> Progress:
        if job.path in self._settled:
            return self._settled[job.path]
        progress = progress_of_job(job)
        if progress.state == "done":
            self._settled[job.path] = progress
        return progress


def _curve(progress: Progress, job: RunJob, width: int) -> Iterator[str]:
    """Yield what to show of a running run; before its first checkpoint that is its name."""
    yield f"{job.dataset}, {job.solver}, {Path(job.path).parent.name}, seed {job.specs[0].seed}"
    try:
        iteration, objective = checkpoint_objectives(checkpoint_path(Path(job.path)))
    except UserError:  # there is none yet, or it has just been removed
        yield f"  no checkpoint yet, {job.specs[0].iterations} iterations to do"
        return
    name, values = _gap(job, objective)
    yield f"  {name} {values[0]:.3g} -> {values[-1]:.3g}, {progress.share:.0%} done"
    heights = np.log10(np.maximum(values, FLOOR)) if name == "gap" else values
    yield from (f"  {row}" for row in chart(iteration, heights, width - 2, CHART_ROWS))


def _gap(job: RunJob, objective: np.ndarray) -> tuple[str, np.ndarray]:
    """Return the objective gap if the optimum is known already, else the objective."""
    if job.optimum is None or not Path(job.optimum.path).exists():
        return "objective", objective
    optimum = read_optimum(job.optimum.path)
    if optimum.error:
        return "objective", objective
    return "gap", objective - optimum.attrs["objective"]


def chart(x: np.ndarray, y: np.ndarray, width: int, rows: int) -> list[str]:
    """Draw a curve in Braille dots, two by four to a character."""
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
