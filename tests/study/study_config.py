"""Configs with one small study, and the jobs and runs they expand to."""

from gvibench.study.config import load_config
from gvibench.study.expand import expand


def study(**changes):
    values = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1, **changes}
    return {"studies": {"s": {key: value for key, value in values.items() if value is not None}}}


def jobs(**changes):
    return expand(load_config(study(**changes)))


def specs(**changes):
    return [spec for job in jobs(**changes).runs.values() for spec in job.specs]
