"""Run Snakemake like `python -m snakemake`, but never deadlock on SIGTERM.

Snakemake's handler of SIGTERM acquires a lock. Python calls handlers in the main thread, which
holds this lock while it records finished jobs. If the signal arrives then, Snakemake waits forever.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["in_thread", "main"]

_register = signal.signal


def in_thread(handler: Callable[[int, FrameType | None], Any]) -> Callable[..., None]:
    """Return a handler that calls `handler` in a new thread, which can wait for locks."""

    def start(number: int, frame: FrameType | None) -> None:
        threading.Thread(target=handler, args=(number, frame), daemon=True).start()

    return start


def main() -> None:
    """Run Snakemake with the arguments of this process."""
    from snakemake.cli import main as snakemake_main

    def register(number: int, handler: Any) -> Any:
        is_function = number == signal.SIGTERM and callable(handler)
        return _register(number, in_thread(handler) if is_function else handler)

    signal.signal = register  # type: ignore[assignment]
    snakemake_main()


if __name__ == "__main__":
    main()
