"""Constants of the tuning stage that the plan and the stage share."""

__all__ = ["MAX_EXTENSIONS"]

MAX_EXTENSIONS = 4
"""Maximum number of times that a round extends its grid at each end."""
