import pytest

from gvibench.engine.progress import duration
from gvibench.study.config import load_config
from gvibench.study.expand import expand
from gvibench.study.resources import is_short, runtime_minutes, tuning_minutes, tuning_trials


def planned(**study):
    base = {"datasets": ["synthetic"], "solvers": ["vn"], "step": 0.1, "seeds": 1}
    return expand(load_config({"studies": {"s": {**base, **study}}}))


def job(**study):
    return planned(**study).of_study("s")[0]


def test_only_runs_of_seconds_share_a_job_of_a_cluster():
    assert is_short(job(iterations=100))
    assert not is_short(job(iterations=10_000_000))
    assert not is_short(job(iterations=100, exclusive=True))


def test_limits_grow_with_the_work():
    assert runtime_minutes(job(iterations=10_000_000)) > 60 > runtime_minutes(job(iterations=100))
    few, many = (
        next(iter(planned(step="tuned", iterations=5000, tuning={"seeds": seeds}).tuning.values()))
        for seeds in ([1000], list(range(1000, 1100)))
    )
    assert tuning_trials(many) == 100 * tuning_trials(few) == 100 * 5 * 2
    assert tuning_minutes(many) > tuning_minutes(few)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (89, "89 s"), (600, "10.0 min"), (7200, "2.0 h")]
)
def test_durations_are_said_as_people_do(seconds, said):
    assert duration(seconds) == said
