"""Errors that users see, and helpers for their messages."""

import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

__all__ = [
    "RETRIED",
    "Diverged",
    "Interrupted",
    "Stopped",
    "UserError",
    "call",
    "one_sentence",
    "print_failure",
    "suggest",
]

MAX_CHARACTERS = 1000
"""Maximum length of a message."""
RETRIED = (OSError, MemoryError)
"""Errors of the machine rather than of the study. The job fails, so that it is run again."""


class UserError(Exception):
    """Invalid input: one sentence that says what is wrong, where, and how to fix it.

    The command line prints the sentence and exits with code 2, without a traceback.
    """

    def __init__(self, sentence: str) -> None:
        # Messages quote names and values from outside: remove line breaks and control characters.
        words = " ".join(sentence.split())
        if len(words) > MAX_CHARACTERS:  # a library has quoted a whole file; keep both ends
            words = f"{words[: MAX_CHARACTERS // 2]} ... {words[-MAX_CHARACTERS // 2 :]}"
        super().__init__(
            "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
        )


class Diverged(Exception):  # noqa: N818  (a result of a run, not an error)
    """The iterate left the domain of the update; the trace records the reason."""


class Stopped(Exception):  # noqa: N818  (a result of a run, not an error)
    """A run has no further step; the message is the reason.

    Parameters
    ----------
    reason
        Reason, for the trace.
    failed
        Whether the run has failed. Otherwise its status depends on its last iterate.
    """

    def __init__(self, reason: str, *, failed: bool = False) -> None:
        super().__init__(reason)
        self.failed = failed


class Interrupted(Exception):  # noqa: N818  (an order, not an error)
    """A stop was requested; the message says what was saved and how to resume."""

    BY_KEYBOARD = 130
    """Exit code after Ctrl-C, as in shells."""
    TRY_AGAIN = 75
    """Exit code after SIGTERM: the run can be resumed (EX_TEMPFAIL)."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def suggest(word: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" for the known name nearest to `word`, or an empty string."""
    import difflib  # only for messages

    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def one_sentence(error: Exception) -> str:
    """Return the message of an error as one sentence."""
    if isinstance(error, UserError):
        return str(error)
    return str(UserError(f"{type(error).__name__}: {error}"))


def print_failure(error: Exception) -> None:
    """Print an error to the log of the job, with a traceback unless it is a UserError."""
    if isinstance(error, UserError):
        print(error, file=sys.stderr)
    else:
        traceback.print_exception(error)


def call(parser: "argparse.ArgumentParser", arguments: Sequence[str] | None) -> int:
    """Parse the arguments, run the command they name and return its exit code.

    An expected error is printed as one line without a traceback.
    """
    options = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int | None] = options.command
    try:
        return command(options) or 0
    except UserError as error:
        message, code = str(error), 2
    except Interrupted as stop:
        message, code = str(stop), stop.exit_code
    except MemoryError:
        message = (
            "not enough memory for this problem: use fewer rows or columns, or a larger machine"
        )
        code = 2
    except KeyboardInterrupt:
        message, code = "interrupted", Interrupted.BY_KEYBOARD
    except BrokenPipeError:  # the reader of our output, e.g. `head`, has ended
        sys.stderr.close()
        return 1
    except OSError as error:
        message, code = f"{error.filename or 'output'}: {error.strerror or error}", 2
    print(f"{parser.prog}: {message}", file=sys.stderr)
    return code
