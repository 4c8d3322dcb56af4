"""The ways in which a run can end early without being a bug."""

__all__ = ["Diverged", "Interrupted", "UserError"]

LONGEST = 1000
"""Letters that a sentence has at most."""


class UserError(Exception):
    """What the user gave cannot be used: one sentence saying what, where and what to do.

    The command line prints the sentence and exits with code 2, without a traceback.
    """

    def __init__(self, sentence: str) -> None:
        # It quotes names and values of others: no line breaks, and nothing a terminal obeys.
        words = " ".join(sentence.split())
        if len(words) > LONGEST:  # a library has quoted a whole file; the remedy is at the end
            words = f"{words[: LONGEST // 2]} ... {words[-LONGEST // 2 :]}"
        super().__init__(
            "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
        )


class Diverged(Exception):  # noqa: N818  (a result of a run, not an error)
    """The iteration left the set where it is defined; the reason goes into the trace."""


class Interrupted(Exception):  # noqa: N818  (an order, not an error)
    """The run was told to stop; the message says what was kept and how to resume."""

    BY_KEYBOARD = 130
    """Exit code after Ctrl-C, as shells have it."""
    TRY_AGAIN = 75
    """Exit code after SIGTERM: the run can be resumed (EX_TEMPFAIL)."""

    def __init__(self, sentence: str, exit_code: int) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
