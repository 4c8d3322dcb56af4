"""Keep the failure of one figure or table from taking the report of a study with it."""

import sys
import traceback

from gvibench.errors import UserError

__all__ = ["RETRIED", "one_sentence", "print_failure"]

RETRIED = (OSError, MemoryError)
"""Failures of the machine rather than of the study: the job fails, so that it is run again."""


def one_sentence(error: Exception) -> str:
    """Return what went wrong in one sentence."""
    if isinstance(error, UserError):
        return str(error)
    return str(UserError(f"{type(error).__name__}: {error}"))


def print_failure(error: Exception) -> None:
    """Print the traceback to the log of the job, except that of a sentence for the user."""
    if isinstance(error, UserError):
        print(error, file=sys.stderr)
    else:
        traceback.print_exception(error)
