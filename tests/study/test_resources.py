from gvibench.study.config import load_config
from gvibench.study.expand import expand
from gvibench.study.resources import is_short, runtime_minutes, tuning_minutes, tuning_trials


def planned(**study):
    base = {"datasets": ["synthetic"], "solvers": ["vn"], "step": 0.1, "seeds": 1}
    return expand(load_config({"studies": {"s": {**base, **study}}}))


def job(**study):
    return planned(**study).of_study("s")[0]


def test_only_short_runs_share_a_cluster_job():
    assert is_short(job(iterations=100))
    assert not is_short(job(iterations=10_000_000))
    assert not is_short(job(iterations=100, exclusive=True))


def test_time_limits_grow_with_the_work():
    assert runtime_minutes(job(iterations=10_000_000)) > 60 > runtime_minutes(job(iterations=100))
    few, many = (
        next(iter(planned(step="tuned", iterations=5000, tuning={"seeds": seeds}).tuning.values()))
        for seeds in ([1000], list(range(1000, 1100)))
    )
    assert tuning_trials(many) == 100 * tuning_trials(few) == 100 * 5 * 2 * 2  # two rounds
    assert tuning_minutes(many) > tuning_minutes(few)
