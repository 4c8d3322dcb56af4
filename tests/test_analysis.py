import warnings

import numpy as np
import pytest

from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench import aggregate as aggregation
from gvibench import analysis
from gvibench.analysis import (
    Ranking,
    band_over_iterations,
    band_over_seconds,
    configurations,
    final,
    gap,
    iterations_to,
    open_aggregate,
    seconds_to,
)
from gvibench.errors import UserError
from gvibench.traces import write_trace


def test_kind_is_that_of_the_aggregate():
    assert analysis.KIND == aggregation.KIND
    assert set(analysis.BOUNDED) <= set(aggregation.REFERENCES)


def test_opening_says_what_is_wrong(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        open_aggregate(tmp_path / "no.zarr.zip")
    (tmp_path / "text.zarr.zip").write_text("no zip at all")
    with pytest.raises(UserError, match="not a zip file"):
        open_aggregate(tmp_path / "text.zarr.zip")
    write_trace(tmp_path / "t.zarr.zip", Run([1.0]).trace())
    with pytest.raises(UserError, match="is not an aggregate"):
        open_aggregate(tmp_path / "t.zarr.zip")


def test_curves_are_read_only_when_used(tmp_path):
    path = write_aggregate(tmp_path, [Run([12.0, 11.0])])
    with open_aggregate(path) as dataset:
        assert not dataset["test_nll"].variable._in_memory
        gap(dataset, "objective")
        assert not dataset["test_nll"].variable._in_memory


# Gaps


def test_gap_to_the_optimum(tmp_path):
    dataset = make_dataset(tmp_path, [Run([15.0, 12.0, 10.0]), Run([13.0, 11.0], seed=1)])
    found = gap(dataset, "objective")
    assert found.dims == ("run", "iteration")
    np.testing.assert_allclose(found[0], [5, 2, 0])
    np.testing.assert_allclose(found[1], [3, 1, np.nan])
    np.testing.assert_allclose(gap(dataset, "neg_elbo"), found)


def test_gap_to_the_best_seen_when_asked_or_when_there_is_no_optimum(tmp_path):
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
def test_best_seen_is_of_the_same_problem(tmp_path, changed):
    runs = [Run([15.0, 12.0]), Run([9.0, 8.0], **changed)]
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    np.testing.assert_allclose(gap(dataset, "objective"), [[3, 0], [1, 0]])


def test_stochastic_runs_are_measured_with_exact_ones(tmp_path):
    stochastic = {"expectation": "stochastic"}
    runs = [Run([15.0, 12.0]), Run([15.0, 14.0], spec=stochastic)]
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    np.testing.assert_allclose(gap(dataset, "objective"), [[3, 0], [3, 2]])
    exact, other = configurations(dataset)
    assert exact.panel == other.panel == "wdbc"
    assert exact.problem == other.problem
    assert other.line == "VN, expectation stochastic"


def test_test_gaps_are_from_the_best_seen_and_accuracy_counts_downwards(tmp_path):
    scalars = {"test_nll": [9.0, 4.0, 6.0], "test_accuracy": [0.5, 0.9, 0.8]}
    dataset = make_dataset(tmp_path, [Run([15.0, 12.0, 10.0], scalars=scalars)])
    np.testing.assert_allclose(gap(dataset, "test_nll"), [[5, 0, 2]])
    np.testing.assert_allclose(gap(dataset, "test_accuracy"), [[0.4, 0, 0.1]])


def test_diverged_runs_have_no_gap_and_set_no_reference(tmp_path):
    runs = [Run([15.0, 12.0]), Run([11.0, 9.0], seed=1, status="diverged")]
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    np.testing.assert_allclose(gap(dataset, "objective"), [[3, 0], [np.nan, np.nan]])
    assert configurations(dataset)[0].diverged == 1


def test_rounding_below_the_optimum_is_zero_and_more_is_told(tmp_path):
    dataset = make_dataset(tmp_path, [Run([12.0, 10.0 - 1e-13])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gap(dataset, "objective").values.min() == 0.0
    dataset = make_dataset(tmp_path, [Run([12.0, 9.5])])
    with pytest.warns(UserWarning, match=r"1 runs got below the optimum .* up to 0\.5"):
        assert gap(dataset, "objective").values.min() == -0.5


def test_the_papers_elbo_may_be_below_its_value_at_the_optimum(tmp_path):
    scalars = {"train_elbo_paper": [9.0, 7.0]}
    dataset = make_dataset(tmp_path, [Run([12.0, 11.0], scalars=scalars)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(gap(dataset, "train_elbo_paper"), [[1, -1]])


def test_all_diverged(tmp_path):
    dataset = make_dataset(tmp_path, [Run([15.0], status="diverged")], gap="best-seen")
    assert np.isnan(gap(dataset, "objective")).all()
    assert np.isnan(iterations_to(dataset, 1.0)).all()


# Efforts


def test_iterations_and_seconds_to_a_level(tmp_path):
    curve = [15.0, 10.9, 11.5, 10.5, 10.0]  # touches a gap of one, and leaves it again
    at = [0, 10, 20, 30, 40]
    seconds = [0.0, 0.1, 0.2, 0.3, 0.4]
    runs = [
        Run(curve, iteration=at, seconds=seconds),
        Run([15.0, 14.0], seed=1, iteration=[0, 10], seconds=[0.0, 0.7]),
        Run([15.0, 10.0], seed=2, iteration=[0, 10], seconds=[0.0, 0.7], status="diverged"),
        Run([10.0, 10.0], seed=3, iteration=[0, 10], seconds=[0.0, 0.7]),
    ]
    dataset = make_dataset(tmp_path, runs)
    np.testing.assert_allclose(iterations_to(dataset, 1.0), [30, np.nan, np.nan, 0])
    np.testing.assert_allclose(iterations_to(dataset, 0.6), [30, np.nan, np.nan, 0])
    np.testing.assert_allclose(seconds_to(dataset, 0.6), [0.3, np.nan, np.nan, 0.0])
    np.testing.assert_allclose(seconds_to(dataset, 1e-9), [0.4, np.nan, np.nan, 0.0])


def test_final_is_the_last_record():
    values = np.array([[1.0, 2.0, np.nan], [1.0, np.nan, 3.0], [np.nan] * 3])
    np.testing.assert_allclose(final(values), [2, 3, np.nan])


# Configurations


def test_configurations_differ_in_more_than_their_seed(tmp_path):
    dataset = make_dataset(tmp_path, study())
    found = configurations(dataset)
    assert [(one.dataset, one.solver, one.step, one.init_scale) for one in found] == [
        (name, solver, step, scale)
        for name in ("wdbc", "digits_50%")
        for solver, step, scale in (
            ("vn", 0.5, 1.0),
            ("vn", 0.1, 1.0),
            ("sr-vn", 0.1, 0.1),
            ("mine", 7.0, 1.0),
        )
    ]
    assert [len(one.runs) for one in found] == [3] * 8
    assert [one.diverged for one in found] == [0, 0, 1, 3] * 2
    assert [one.line for one in found[:4]] == ["VN", "VN", "SR-VN", "mine"]
    assert dataset["seed"].values[found[2].completed].tolist() == [0, 1]


def test_names_tell_varied_fields_and_no_others(tmp_path):
    runs = [
        Run([12.0], "a", spec={"gamma": 1.0, "mean_scale": 1.0}),
        Run([12.0], "a", spec={"gamma": 0.5, "mean_scale": 1.0}),
        Run([12.0], "a", spec={"gamma": 1.0, "mean_scale": 0.0}),
        Run([12.0], "b", spec={"beta": 3.0}),
        Run([12.0], "b", "sr-vn", spec={"beta": 3.0, "iterations": 9}),
    ]
    names = [(one.panel, one.line) for one in configurations(make_dataset(tmp_path, runs))]
    assert names == [
        ("a, gamma 1", "VN, mean_scale 1"),
        ("a, gamma 0.5", "VN, mean_scale 1"),
        ("a, gamma 1", "VN, mean_scale 0"),
        ("b", "VN, mean_scale 1"),
        ("b", "SR-VN"),
    ]


def test_a_solver_that_is_not_installed_keeps_its_label(tmp_path):
    assert analysis.solver_title("sr-vn", "sr-vn") == "SR-VN"
    assert analysis.solver_title("mine", "sr-vn") == "mine"
    assert analysis.solver_title("unheard-of", "unheard-of") == "unheard-of"


# Who is best


def test_the_best_has_fewest_diverged_then_lowest_gap_then_least_effort(tmp_path):
    runs = [
        Run([20.0, 11.0, 11.0], step=0.1),
        Run([20.0, 12.0, 10.0], step=0.2),
        Run([20.0, 10.0, 10.0 + 1e-11], step=0.3),
        Run([20.0, 10.0, 10.0], step=0.4),
        Run([20.0, 10.0, 10.0], step=0.4, seed=1, status="diverged"),
        Run([20.0], "b", step=0.1, status="diverged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    chosen = Ranking.of(dataset).best_lines(configurations(dataset))
    assert [(one.dataset, one.step) for one in chosen] == [("wdbc", 0.3), ("b", 0.1)]


# Bands


def test_band_over_iterations_leaves_diverged_out_and_carries_ends_forward(tmp_path):
    runs = [
        Run([14.0, 12.0, 11.0], iteration=[0, 2, 4]),
        Run([18.0, 10.0], seed=1, iteration=[0, 2]),
        Run([99.0, 999.0], seed=2, iteration=[0, 1], status="diverged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    (one,) = configurations(dataset)
    band = band_over_iterations(gap(dataset, "objective"), one)
    np.testing.assert_allclose(band.at, [0, 2, 4])
    np.testing.assert_allclose(band.mean, [6, 1, 0.5])
    np.testing.assert_allclose(band.low, [4, 0, 0])
    np.testing.assert_allclose(band.high, [8, 2, 1])


def test_band_over_seconds_uses_the_last_value_seen_up_to_the_shortest_run(tmp_path):
    runs = [
        Run([14.0, 12.0, 11.0], seconds=[0.0, 1.0, 4.0]),
        Run([18.0, 10.0, 10.0], seed=1, seconds=[0.0, 2.0, 3.0]),
    ]
    dataset = make_dataset(tmp_path, runs)
    (one,) = configurations(dataset)
    band = band_over_seconds(gap(dataset, "objective"), dataset["seconds"].values, one, points=50)
    assert band.at[0] == band.at[1] == 1.0
    assert band.at[-1] == 3.0
    assert band.mean[0] == 6.0  # of 4 and 8, where they started
    early = band.at[1:] < 2.0
    np.testing.assert_allclose(band.mean[1:][early], 5.0)  # of 2 and 8: one seed has not moved yet
    np.testing.assert_allclose(band.mean[1:][~early], 1.0)  # of 2 and 0: 4 s is out of reach
    np.testing.assert_allclose(band.high[1:][~early], 2.0)


def test_bands_of_nothing_are_empty(tmp_path):
    dataset = make_dataset(tmp_path, [Run([14.0], status="diverged")])
    (one,) = configurations(dataset)
    gaps = gap(dataset, "objective")
    assert len(band_over_iterations(gaps, one).at) == 0
    assert len(band_over_seconds(gaps, dataset["seconds"].values, one).at) == 0
