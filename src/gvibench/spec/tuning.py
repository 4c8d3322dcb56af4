"""Constants of the tuning stage that the plan and the stage share."""

__all__ = ["MAX_EXTENSIONS", "TRIALS"]

MAX_EXTENSIONS = 4
"""Maximum number of times that a round extends its grid at each end."""
TRIALS = "trials.zarr.zip"
"""Name of the file with the trials of a tuning job.

Snakemake deletes the outputs of a job before it starts the job again. The trials are not among its
outputs, so that the job continues with them if it was interrupted or if its settings have changed.
"""
