"""The study behind most of the pages that are tested."""

from figures.made_aggregate import study

JOB = {"study": "made", "tables": ["datasets", "performance"], "code_hash": "c0de"}


def with_passes():
    """Return a small study whose runs also count their passes over the data."""
    runs = study()
    for run in runs:
        run.scalars["data_passes"] = [2 * k for k in range(len(run.objective))]
        run.spec["record"] = ("data_passes",)
    return runs
