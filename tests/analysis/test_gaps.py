"""Gaps of runs, and the effort to reach a small gap."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from figures.made_aggregate import Run, make_dataset
from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import final, first_reached, gap, settled


def test_gap_to_the_optimum(tmp_path):
    dataset = make_dataset(tmp_path, [Run([15.0, 12.0, 10.0]), Run([13.0, 11.0], seed=1)])
    gaps = gap(dataset, "objective")
    assert gaps.dims == ("run", "iteration")
    np.testing.assert_allclose(gaps[0], [5, 2, 0])
    np.testing.assert_allclose(gaps[1], [3, 1, np.nan])
    np.testing.assert_allclose(gap(dataset, "neg_elbo"), gaps)


def test_gap_to_the_best_value_if_requested_or_without_an_optimum(tmp_path):
    runs = [Run([15.0, 12.0]), Run([14.0, 13.0], seed=1), Run([30.0, 20.0], dataset="other")]
    asked = make_dataset(tmp_path, runs, gap="best-seen")
    np.testing.assert_allclose(gap(asked, "objective"), [[3, 0], [2, 1], [10, 0]])
    for run in runs:
        run.optimum = None
    unknown = make_dataset(tmp_path, runs)
    np.testing.assert_allclose(gap(unknown, "objective"), [[3, 0], [2, 1], [10, 0]])


@pytest.mark.parametrize(
    "changed", [{"spec": {"gamma": 0.5}}, {"spec": {"beta": 1.0}}, {"data": {"split_seed": 7}}]
)
def test_best_value_is_taken_over_the_same_problem(tmp_path, changed):
    runs = [Run([15.0, 12.0]), Run([9.0, 8.0], **changed)]
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    np.testing.assert_allclose(gap(dataset, "objective"), [[3, 0], [1, 0]])


def test_stochastic_and_exact_runs_share_a_reference(tmp_path):
    stochastic = {"expectation": "stochastic"}
    runs = [Run([15.0, 12.0]), Run([15.0, 14.0], spec=stochastic)]
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    np.testing.assert_allclose(gap(dataset, "objective"), [[3, 0], [3, 2]])
    exact, other = configurations(dataset)
    assert exact.panel == other.panel == "wdbc"
    assert exact.problem == other.problem
    assert other.line == "VN, expectation stochastic"


def test_test_metrics_are_measured_from_the_best_value(tmp_path):
    scalars = {"test_nll": [9.0, 4.0, 6.0], "test_accuracy": [0.5, 0.9, 0.8]}
    dataset = make_dataset(tmp_path, [Run([15.0, 12.0, 10.0], scalars=scalars)])
    np.testing.assert_allclose(gap(dataset, "test_nll"), [[5, 0, 2]])
    np.testing.assert_allclose(gap(dataset, "test_accuracy"), [[0.4, 0, 0.1]])


def test_diverged_runs_have_no_gap_and_set_no_reference(tmp_path):
    runs = [Run([15.0, 12.0]), Run([11.0, 9.0], seed=1, status="diverged")]
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    np.testing.assert_allclose(gap(dataset, "objective"), [[3, 0], [np.nan, np.nan]])
    assert configurations(dataset)[0].unusable == 1


def test_rounding_below_the_optimum_is_zero_and_more_is_a_warning(tmp_path):
    dataset = make_dataset(tmp_path, [Run([12.0, 10.0 - 1e-13])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gap(dataset, "objective").values.min() == 0.0
    dataset = make_dataset(tmp_path, [Run([12.0, 9.5])])
    with pytest.warns(UserWarning, match=r"1 runs have values below the optimum, by up to 0\.5"):
        assert gap(dataset, "objective").values.min() == -0.5


def test_single_precision_has_a_larger_rounding_tolerance(tmp_path):
    dataset = make_dataset(tmp_path, [Run([12.0, 10.0 - 5e-6], spec={"dtype": "float32"})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gap(dataset, "objective").values.min() == 0.0


@pytest.mark.parametrize(("metric", "gamma"), [("train_elbo_paper", 1.0), ("neg_elbo", 0.5)])
def test_metrics_with_another_minimiser_are_measured_from_the_best_value(tmp_path, metric, gamma):
    runs = [Run([12.0, 11.0, 11.5], scalars={metric: [9.0, 7.0, 7.5]}, spec={"gamma": gamma})]
    dataset = make_dataset(tmp_path, runs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(gap(dataset, metric), [[2, 0, 0.5]])


def test_failed_runs_have_no_gap_and_set_no_reference(tmp_path):
    runs = [Run([15.0, 12.0]), Run([11.0, 9.0, 3e6], seed=1, status="failed")]
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    gaps = gap(dataset, "objective").values
    np.testing.assert_allclose(gaps[0, :2], [3, 0])
    assert np.isnan(gaps[1]).all()


def test_gaps_and_efforts_are_nan_if_all_runs_diverged(tmp_path):
    dataset = make_dataset(tmp_path, [Run([15.0], status="diverged")], gap="best-seen")
    assert np.isnan(gap(dataset, "objective")).all()
    assert np.isnan(settled(dataset, 1.0).iterations).all()


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


def test_final_is_the_last_record():
    values = np.array([[1.0, 2.0, np.nan], [1.0, np.nan, 3.0], [np.nan] * 3])
    np.testing.assert_allclose(final(values), [2, 3, np.nan])
