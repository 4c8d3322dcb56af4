"""Provide the study that most browser tests use."""

from figures.made_aggregate import study

JOB = {"study": "made", "tables": ["datasets", "performance"], "code_hash": "c0de"}


def with_passes():
    """Return the runs of a small study whose costs differ from their iterations."""
    runs = study()
    for run in runs:
        run.scalars["data_passes"] = [2 * k for k in range(len(run.objective))]
        run.scalars["evaluations"] = [1 + 3 * k for k in range(len(run.objective))]
    return runs
