"""Effort of runs to reach a small gap."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from figures.made_aggregate import Run, make_dataset
from gvibench.analysis.efforts import first_reached, settled


def test_iterations_and_seconds_to_a_level(tmp_path):
    curve = [15.0, 10.9, 11.5, 10.5, 10.0]  # reaches a gap of 1 and exceeds it again
    at = [0, 10, 20, 30, 40]
    seconds = [0.0, 0.1, 0.2, 0.3, 0.4]
    runs = [
        Run(curve, iteration=at, seconds=seconds),
        Run([15.0, 14.0], seed=1, iteration=[0, 10], seconds=[0.0, 0.7]),
        Run([15.0, 10.0], seed=2, iteration=[0, 10], seconds=[0.0, 0.7], status="diverged"),
        Run([10.0, 10.0], seed=3, iteration=[0, 10], seconds=[0.0, 0.7]),
    ]
    dataset = make_dataset(tmp_path, runs)
    first, last = first_reached(dataset, 1.0), settled(dataset, 1.0)
    np.testing.assert_allclose(first.most, [10, np.nan, np.nan, 0])
    np.testing.assert_allclose(last.most, [30, np.nan, np.nan, 0])
    np.testing.assert_allclose(last.least, [21, np.nan, np.nan, 0])
    # Between 1.5 at 20 and 0.5 at 30 the gap is assumed to decay exponentially.
    share = np.log(1.5 / 1.0) / np.log(1.5 / 0.5)
    np.testing.assert_allclose(last.iterations, [np.ceil(20 + 10 * share), np.nan, np.nan, 0])
    np.testing.assert_allclose(last.seconds, [last.iterations[0] / 100, np.nan, np.nan, 0])


def test_efforts_are_exact_if_all_iterations_are_recorded(tmp_path):
    dataset = make_dataset(tmp_path, [Run([20.0, 15.0, 10.4, 10.2], seconds=[0.0, 1.0, 2.5, 3.0])])
    effort = settled(dataset, 0.5)
    assert (effort.iterations, effort.least, effort.most) == (2, 2, 2)
    assert effort.seconds == 2.5


TRIALS = {"evaluations": [1, 4, 8, 9], "data_passes": [0.5, 2, 4, 4.5]}


@pytest.mark.parametrize(
    ("cost", "expected"), [("iterations", 2), ("evaluations", 8), ("data_passes", 4)]
)
def test_costs_are_those_of_the_record(tmp_path, cost, expected):
    runs = [Run([20.0, 15.0, 10.4, 10.2], seconds=[0.0, 1.0, 2.5, 3.0], scalars=TRIALS)]
    effort = settled(make_dataset(tmp_path, runs, cost=cost), 0.5)
    assert (effort.iterations, effort.evaluations, effort.data_passes) == (2, 8, 4)
    assert effort.seconds == 2.5
    assert effort.cost(cost) == effort.least == effort.most == expected


def test_costs_between_records_are_interpolated_at_the_iteration(tmp_path):
    curve, at = [110.0, 10.01], [0, 10]
    costs = {"evaluations": [1, 41], "data_passes": [1, 41]}
    dataset = make_dataset(tmp_path, [Run(curve, iteration=at, scalars=costs)], cost="evaluations")
    effort = settled(dataset, 1.0)
    assert effort.iterations == 5  # halfway from a gap of 100 to one of 0.01
    assert effort.evaluations == 21
    assert (effort.least, effort.most) == (5, 41)


@pytest.mark.slow
@given(rate=st.floats(0.5, 0.99), every=st.integers(1, 60), level=st.sampled_from([1e-2, 1e-4]))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_recording_schedule_hardly_changes_the_effort(tmp_path, rate, every, level):
    """The effort of a linearly convergent run does not depend on how often it is recorded."""
    last = 60 * int(np.ceil(np.log(1e-5) / np.log(rate) / 60) + 1)
    curve = 10.0 + rate ** np.arange(last + 1)
    at = sorted({*range(0, last + 1, every), last})
    often, seldom = (
        settled(make_dataset(tmp_path, [Run(curve[k].tolist(), iteration=list(k))]), level)
        for k in (range(last + 1), at)
    )
    if curve[int(seldom.most[0])] - 10.0 > 1e-8:  # Smaller gaps are rounding errors.
        assert abs(often.iterations - seldom.iterations) <= 1
    assert seldom.least <= often.iterations <= seldom.most
