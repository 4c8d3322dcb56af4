"""Describe what is fuzzed, and call the command line with fuzzed input."""

import contextlib
import io
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gvibench.cli.main import main
from gvibench.errors import UserError


@dataclass(frozen=True)
class Target:
    """A reader and the inputs that it must accept or reject."""

    name: str
    count: int
    """Number of inputs."""
    make: Callable[[random.Random, int], Any]
    """Function that returns the k-th input."""
    feed: Callable[[Any], object]
    """Function that reads an input. It may raise `UserError`; any other exception is a bug."""
    place: str
    """Regular expression for the location that each error message must contain."""


def through_cli(*words: str) -> None:
    """Call the command line, and raise `UserError` with its message if it rejects the input.

    A rejection must have exit code 2 and print one line.
    """
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = main(words)
        except SystemExit as stop:  # argparse may also print the usage
            if stop.code != 2:
                raise
            raise UserError(printed.getvalue().splitlines()[-1]) from stop
    text = printed.getvalue()
    assert code in (0, 2), f"exit code {code}"
    if code == 2:
        assert text.startswith("gvibench: "), text
        assert text.count("\n") == 1, text
        raise UserError(text.strip())
