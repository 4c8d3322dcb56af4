"""Report the progress of a run: a bar on a terminal, lines in a log."""

import shutil
import sys
import time
from typing import Self, TextIO

from gvibench.engine.recorder import Recorder
from gvibench.spec.messages import duration
from gvibench.spec.run import RunSpec

__all__ = ["ProgressReport"]

TERMINAL_SECONDS = 0.2
LOG_SECONDS = 60.0
"""Interval between two lines in a log. Shorter runs print nothing."""
BAR_WIDTH = 10


class ProgressReport:
    """Progress function for `execute`, and a context manager that clears the bar at the end.

    It only reads recorded values, so its overhead is small.
    """

    def __init__(self, spec: RunSpec, stream: TextIO | None = None) -> None:
        self._spec = spec
        self._stream = sys.stderr if stream is None else stream
        self._redraws = self._stream.isatty()
        self._every = TERMINAL_SECONDS if self._redraws else LOG_SECONDS
        self._next = self._started = 0.0
        self._first: int | None = None
        """First reported iteration, which is not zero in a resumed run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._redraws:
            self._write("\r\x1b[K")

    def __call__(self, iteration: int, recorder: Recorder, seconds: float) -> None:
        """Print the progress if the interval has passed."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._every
        if self._first is None:
            self._first, self._started = iteration, now
            return
        rate = (iteration - self._first) / max(now - self._started, 1e-9)
        line = self._line(iteration, recorder, rate, seconds)
        if self._redraws:
            width = shutil.get_terminal_size().columns - 1
            line = f"{_bar(iteration / self._spec.iterations)} {line}"[:width]
            self._write(f"\r{line}\x1b[K")
        else:
            self._write(f"{line}\n")

    def _line(self, iteration: int, recorder: Recorder, rate: float, seconds: float) -> str:
        left = (self._spec.iterations - iteration) / rate if rate else float("inf")
        if self._spec.seconds is not None:
            left = min(left, max(self._spec.seconds - seconds, 0.0))
        return (
            f"{iteration}/{self._spec.iterations}, objective {recorder.objective:.6g}, "
            f"gradient {recorder.grad_norm:.1e}, {rate:.3g}/s, "
            f"{duration(left) if left < float('inf') else '?'} left"
        )

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _bar(share: float) -> str:
    done = round(BAR_WIDTH * share)
    return "█" * done + "░" * (BAR_WIDTH - done)
