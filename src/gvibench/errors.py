"""The ways in which a run can end early without being a bug."""

__all__ = ["Diverged", "Interrupted", "UserError"]


class UserError(Exception):
    """What the user gave cannot be used: one sentence saying what, where and what to do.

    The command line prints the sentence and exits with code 2, without a traceback.
    """


class Diverged(Exception):  # noqa: N818  (a result of a run, not an error)
    """The iteration left the set where it is defined; the reason goes into the trace."""


class Interrupted(Exception):  # noqa: N818  (an order, not an error)
    """The run was told to stop; its checkpoint has been written."""
