"""Provide the study that most browser tests use."""

from figures.made_aggregate import study

JOB = {"study": "made", "tables": ["datasets", "performance"], "code_hash": "c0de"}


def with_passes():
    """Return the runs of a small study, which also record the passes over the data."""
    runs = study()
    for run in runs:
        run.scalars["data_passes"] = [2 * k for k in range(len(run.objective))]
        run.spec["record"] = ("data_passes",)
    return runs
