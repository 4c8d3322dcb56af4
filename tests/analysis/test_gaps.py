"""Gaps of runs, and their final values."""

import numpy as np
import pytest
import xarray as xr

from figures.made_aggregate import Run, make_dataset
from gvibench.analysis.configurations import configurations
from gvibench.analysis.efforts import settled
from gvibench.analysis.gaps import final, final_values, gap


def test_gap_to_the_optimum(tmp_path):
    dataset = make_dataset(tmp_path, [Run([15.0, 12.0, 10.0]), Run([13.0, 11.0], seed=1)])
    gaps = gap(dataset, "objective")
    assert gaps.dims == ("run", "record")
    np.testing.assert_array_equal(gaps["iteration"], [[0, 1, 2], [0, 1, np.nan]])
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


def test_test_metrics_may_be_evaluated_at_some_records_only(tmp_path):
    nan = np.nan
    scalars = {"test_nll": [9.0, nan, 6.0, nan], "test_accuracy": [0.5, nan, 0.8, nan]}
    runs = [
        Run([15.0, 12.0, 10.0, 10.0], scalars=scalars),
        Run([15.0, 9.0], seed=1, scalars={"test_nll": [9.0, 4.0], "test_accuracy": [0.5, 0.9]}),
    ]
    dataset = make_dataset(tmp_path, runs)
    np.testing.assert_allclose(gap(dataset, "test_nll"), [[5, nan, 2, nan], [5, 0, nan, nan]])
    np.testing.assert_allclose(final_values(gap(dataset, "test_accuracy")), [0.1, 0.0], atol=1e-12)
    assert final_values(dataset["test_nll"]).tolist() == [6.0, 4.0]


def test_diverged_runs_have_no_gap_and_set_no_reference(tmp_path):
    runs = [Run([15.0, 12.0]), Run([11.0, 9.0], seed=1, status="diverged")]
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    np.testing.assert_allclose(gap(dataset, "objective"), [[3, 0], [np.nan, np.nan]])
    assert configurations(dataset)[0].unusable == 1


def test_rounding_below_the_optimum_is_zero_and_more_is_kept(tmp_path):
    dataset = make_dataset(tmp_path, [Run([12.0, 10.0 - 1e-13])])
    assert gap(dataset, "objective").values.min() == 0.0
    dataset = make_dataset(tmp_path, [Run([12.0, 9.5])])
    assert gap(dataset, "objective").values.min() == -0.5


def test_single_precision_has_a_larger_rounding_tolerance(tmp_path):
    dataset = make_dataset(tmp_path, [Run([12.0, 10.0 - 5e-6], spec={"dtype": "float32"})])
    assert gap(dataset, "objective").values.min() == 0.0


@pytest.mark.parametrize(("metric", "gamma"), [("train_elbo_paper", 1.0), ("neg_elbo", 0.5)])
def test_metrics_with_another_minimiser_are_measured_from_the_best_value(tmp_path, metric, gamma):
    runs = [Run([12.0, 11.0, 11.5], scalars={metric: [9.0, 7.0, 7.5]}, spec={"gamma": gamma})]
    dataset = make_dataset(tmp_path, runs)
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


def test_final_is_the_last_record():
    values = np.array([[1.0, 2.0, np.nan], [1.0, np.nan, 3.0], [np.nan] * 3])
    array = xr.DataArray(values, dims=("run", "record"))
    np.testing.assert_allclose(final(array), [2, 3, np.nan])
    np.testing.assert_allclose(final_values(array.chunk(run=1)), [2, 3, np.nan])
