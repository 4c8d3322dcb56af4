"""Run a study with Snakemake, show its progress in one line and print its conclusion."""

import contextlib
import os
import shutil
import signal
import subprocess  # nosec B404
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Self

from gvibench.errors import Interrupted
from gvibench.report.summary_text import read_conclusion
from gvibench.study.plan import Plan
from gvibench.study.status import Tracker, one_line

__all__ = ["run_study"]

SNAKEMAKE = (sys.executable, "-m", "gvibench.cli.snakemake_process")
SECONDS_PER_LINE = 60.0
"""Time between two lines if the output is not a terminal."""
SECONDS_PER_UPDATE = 1.0
"""Minimum time between two updates of the line on a terminal."""
MAX_SHARE = 0.05
"""Maximum share of the time that is spent on reading the progress of a large study."""
EXIT_CODES = {
    signal.SIGINT: Interrupted.BY_KEYBOARD,
    signal.SIGTERM: Interrupted.TRY_AGAIN,
    signal.SIGHUP: Interrupted.TRY_AGAIN,
}
"""Signals that stop the study, and the exit code after each of them."""


def run_study(plan: Plan, words: Sequence[str], *, with_conclusion: bool = True) -> int:
    """Run Snakemake with the given arguments and return its exit code.

    On a terminal, one line shows the progress; otherwise a line is printed each minute. Snakemake's
    output is shown only if it fails. At the end, the conclusion of each study is printed.
    """
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        with _Signals() as signals:
            # In the same process group, Ctrl-C would reach Snakemake twice, from the terminal and
            # from this process, and Snakemake would end before it has cleaned up.
            # No shell is used, and Snakemake gets only names of files.
            process = subprocess.Popen(  # nosec B603
                [*SNAKEMAKE, "--quiet", *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            signals.forward_to(process.pid)
            try:
                _show_progress(process, Tracker(plan))
            finally:
                if process.poll() is None:  # the progress could not be shown
                    _send(process.pid, signal.SIGTERM)
                    process.wait()
        if process.returncode and signals.last:
            raise Interrupted(
                "interrupted; run the same command again to resume", EXIT_CODES[signals.last]
            )
        if process.returncode:
            output.seek(0)
            shutil.copyfileobj(output, sys.stderr)
            return process.returncode if process.returncode > 0 else 128 - process.returncode
    for study in plan.config.studies if with_conclusion else ():
        _print_conclusion(Path(plan.config.results, study))
    return 0


class _Signals:
    """Forwards the signals that stop this process to a process group."""

    def __init__(self) -> None:
        self.last: signal.Signals | None = None
        """Last signal received."""
        self._group: int | None = None

    def __enter__(self) -> Self:
        self._before = {
            number: signal.signal(number, self._receive)
            for number in EXIT_CODES
            # `nohup` and shells make background jobs ignore signals. Keep it that way.
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def forward_to(self, group: int) -> None:
        """Forward signals to a process group, also one that has been received already."""
        self._group = group
        if self.last:
            _send(group, self.last)

    def _receive(self, number: int, _: FrameType | None) -> None:
        self.last = signal.Signals(number)
        if self._group is not None:
            _send(self._group, number)


def _send(group: int, number: int) -> None:
    if number == signal.SIGHUP:  # Snakemake would end at once and leave its lock
        number = signal.SIGTERM
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.killpg(group, number)


def _show_progress(process: subprocess.Popen[bytes], tracker: Tracker) -> None:
    """Show the progress until the process has ended."""
    on_terminal = sys.stdout.isatty()
    last, is_running = "", True
    while is_running:
        started = time.monotonic()
        line = one_line(tracker.read())
        if on_terminal:
            _replace_line(line)
        else:
            print(line, flush=True)
        seconds = SECONDS_PER_LINE
        if on_terminal:
            seconds = max(SECONDS_PER_UPDATE, (time.monotonic() - started) / MAX_SHARE)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
            is_running = False
        last = line
    line = one_line(tracker.read())
    if on_terminal:
        _replace_line(line)
        print()
    elif line != last:
        print(line, flush=True)


def _replace_line(line: str) -> None:
    width = shutil.get_terminal_size().columns - 1
    print("\r" + line[:width].ljust(width), end="", flush=True)


def _print_conclusion(folder: Path) -> None:
    """Print the first paragraph of the summary of a study, and where its results are."""
    summary = folder / "summary.md"
    print(f"\n{read_conclusion(summary)}")
    print(f"summary: {summary}")
    print(f"page: {folder / 'report/index.html'}")
