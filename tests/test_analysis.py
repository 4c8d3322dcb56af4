import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from figures.made_aggregate import Run, make_dataset, study, write_aggregate
from gvibench.analysis.bands import band_over_iterations, bands_over_seconds
from gvibench.analysis.configurations import KIND, configurations, open_aggregate, solver_title
from gvibench.analysis.gaps import final, first_reached, gap, measured, settled
from gvibench.analysis.ranking import Ranking
from gvibench.errors import UserError
from gvibench.store.traces import write_trace
from gvibench.study import aggregate as aggregation


def test_kind_is_that_of_the_aggregate():
    assert KIND == aggregation.KIND
    assert {"objective", "neg_elbo"} <= set(aggregation.REFERENCES)


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
    assert configurations(dataset)[0].unusable == 1


def test_rounding_below_the_optimum_is_zero_and_more_is_told(tmp_path):
    dataset = make_dataset(tmp_path, [Run([12.0, 10.0 - 1e-13])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gap(dataset, "objective").values.min() == 0.0
    dataset = make_dataset(tmp_path, [Run([12.0, 9.5])])
    with pytest.warns(UserWarning, match=r"1 runs got below the optimum .* up to 0\.5"):
        assert gap(dataset, "objective").values.min() == -0.5


@pytest.mark.parametrize(("metric", "gamma"), [("train_elbo_paper", 1.0), ("neg_elbo", 0.5)])
def test_a_metric_that_the_optimum_does_not_minimise_is_measured_from_the_best_seen(
    tmp_path, metric, gamma
):
    runs = [Run([12.0, 11.0, 11.5], scalars={metric: [9.0, 7.0, 7.5]}, spec={"gamma": gamma})]
    dataset = make_dataset(tmp_path, runs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(gap(dataset, metric), [[2, 0, 0.5]])


def test_failed_runs_have_no_gap_and_set_no_reference(tmp_path):
    runs = [Run([15.0, 12.0]), Run([11.0, 9.0, 3e6], seed=1, status="failed")]
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    found = gap(dataset, "objective").values
    np.testing.assert_allclose(found[0, :2], [3, 0])
    assert np.isnan(found[1]).all()


def test_all_diverged(tmp_path):
    dataset = make_dataset(tmp_path, [Run([15.0], status="diverged")], gap="best-seen")
    assert np.isnan(gap(dataset, "objective")).all()
    assert np.isnan(settled(dataset, 1.0).iterations).all()


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
    first, last = first_reached(dataset, 1.0), settled(dataset, 1.0)
    np.testing.assert_allclose(first.most, [10, np.nan, np.nan, 0])
    np.testing.assert_allclose(last.most, [30, np.nan, np.nan, 0])
    np.testing.assert_allclose(last.least, [21, np.nan, np.nan, 0])
    # Between 1.5 at 20 and 0.5 at 30 the gap is taken to fall exponentially.
    share = np.log(1.5 / 1.0) / np.log(1.5 / 0.5)
    np.testing.assert_allclose(last.iterations, [np.ceil(20 + 10 * share), np.nan, np.nan, 0])
    np.testing.assert_allclose(last.seconds, [last.iterations[0] / 100, np.nan, np.nan, 0])


def test_efforts_are_exact_where_each_iteration_is_recorded(tmp_path):
    dataset = make_dataset(tmp_path, [Run([20.0, 15.0, 10.4, 10.2], seconds=[0.0, 1.0, 2.5, 3.0])])
    effort = settled(dataset, 0.5)
    assert (effort.iterations, effort.least, effort.most) == (2, 2, 2)
    assert effort.seconds == 2.5


@given(rate=st.floats(0.5, 0.99), every=st.integers(1, 60), level=st.sampled_from([1e-2, 1e-4]))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_recording_schedule_does_not_decide_who_is_first(tmp_path, rate, every, level):
    """A run that converges linearly takes as long, however often it is recorded."""
    last = 60 * int(np.ceil(np.log(1e-5) / np.log(rate) / 60) + 1)
    curve = 10.0 + rate ** np.arange(last + 1)
    at = sorted({*range(0, last + 1, every), last})
    often, seldom = (
        settled(make_dataset(tmp_path, [Run(curve[k].tolist(), iteration=list(k))]), level)
        for k in (range(last + 1), at)
    )
    if curve[int(seldom.most[0])] - 10.0 > 1e-8:  # else the gap has fallen to rounding errors
        assert abs(often.iterations - seldom.iterations) <= 1
    assert seldom.least <= often.iterations <= seldom.most


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
    assert [one.unusable for one in found] == [0, 0, 1, 3] * 2
    assert found[2].endings == {"completed": 2, "diverged": 1}
    assert [one.line for one in found[:4]] == ["VN", "VN", "SR-VN", "mine"]
    assert dataset["seed"].values[found[2].usable].tolist() == [0, 1]


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
    assert solver_title("sr-vn", "sr-vn") == "SR-VN"
    assert solver_title("mine", "sr-vn") == "mine"
    assert solver_title("unheard-of", "unheard-of") == "unheard-of"


def test_labels_that_differ_in_case_stay_two_lines(tmp_path):
    runs = [Run([12.0], solver="vn"), Run([13.0], solver="VN", solver_id="vn")]
    lines = [one.line for one in configurations(make_dataset(tmp_path, runs))]
    assert lines == ["VN [vn]", "VN [VN]"]


def test_numbers_that_round_alike_keep_different_names(tmp_path):
    runs = [Run([12.0], spec={"gamma": value}) for value in (0.1234567, 0.1234568)]
    panels = [one.panel for one in configurations(make_dataset(tmp_path, runs))]
    assert panels == ["wdbc, gamma 0.1234567", "wdbc, gamma 0.1234568"]


def test_a_run_that_is_listed_twice_counts_once(tmp_path):
    runs = [Run([12.0, 11.0]), Run([12.0, 11.0]), Run([13.0, 12.0], seed=1)]
    (one,) = configurations(make_dataset(tmp_path, runs))
    assert one.runs.tolist() == [0, 2]


def test_approximations_recorded_exactly_are_one_problem(tmp_path):
    """Bounds of different quality are lines of one panel, measured by the exact objective."""
    recorded = {"record": ("objective_exact",), "expectation": "piecewise"}
    runs = [
        Run([20.0, own], scalars={"objective_exact": [19.0, exact]}, spec={"pieces": k, **recorded})
        for k, own, exact in ((4, 17.0, 11.0), (20, 10.5, 10.4))
    ]
    runs.append(Run([20.0, 10.2], "wdbc", "sr-vn"))
    dataset = make_dataset(tmp_path, runs, gap="best-seen")
    found = configurations(dataset)
    assert len({one.problem for one in found}) == 1
    assert {one.panel for one in found} == {"wdbc"}
    assert [one.line for one in found] == ["VN, pieces 4", "VN, pieces 20", "SR-VN"]
    np.testing.assert_allclose(final(gap(dataset, "objective").values), [0.8, 0.2, 0.0])
    # What contains the training loss moves with it.
    np.testing.assert_allclose(final(measured(dataset, "neg_elbo")), [16.0, 15.4, 15.2])


def test_approximations_that_are_not_recorded_exactly_are_different_problems(tmp_path):
    runs = [Run([12.0], spec={"expectation": "piecewise", "pieces": k}) for k in (4, 20)]
    panels = [one.panel for one in configurations(make_dataset(tmp_path, runs))]
    assert panels == ["wdbc, pieces 4", "wdbc, pieces 20"]


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
    np.testing.assert_allclose(band.center, [6, 1, 0.5])
    np.testing.assert_allclose(band.low, [4, 0, 0])
    np.testing.assert_allclose(band.high, [8, 2, 1])


def test_band_over_seconds_uses_the_last_value_seen_up_to_the_shortest_run(tmp_path):
    runs = [
        Run([14.0, 12.0, 11.0], seconds=[0.0, 1.0, 4.0]),
        Run([18.0, 10.0, 10.0], seed=1, seconds=[0.0, 2.0, 3.0]),
    ]
    dataset = make_dataset(tmp_path, runs)
    (one,) = configurations(dataset)
    band = bands_over_seconds(dataset)(gap(dataset, "objective"), one, "mean")
    assert band.at[0] == band.at[1] == 1.0
    assert band.at[-1] == 3.0
    assert band.center[0] == 6.0  # of 4 and 8, where they started
    early = band.at[1:] < 2.0
    np.testing.assert_allclose(band.center[1:][early], 5.0)  # of 2 and 8: one is still there
    np.testing.assert_allclose(band.center[1:][~early], 1.0)  # of 2 and 0: 4 s is out of reach
    np.testing.assert_allclose(band.high[1:][~early], 2.0)


def test_bands_of_nothing_are_empty(tmp_path):
    dataset = make_dataset(tmp_path, [Run([14.0], status="diverged")])
    (one,) = configurations(dataset)
    gaps = gap(dataset, "objective")
    assert len(band_over_iterations(gaps, one).at) == 0
    assert len(bands_over_seconds(dataset)(gaps, one, "median").at) == 0


def test_a_median_does_not_follow_one_bad_seed(tmp_path):
    finals = [10.0 + 1e-6, 10.0 + 2e-6, 10.0 + 4e-6, 10.0 + 8e-6, 1010.0]
    dataset = make_dataset(
        tmp_path, [Run([2000.0, value], seed=seed) for seed, value in enumerate(finals)]
    )
    (one,) = configurations(dataset)
    gaps = gap(dataset, "objective")
    ends = {
        center: band_over_iterations(gaps, one, center).center[-1]
        for center in ("median", "mean", "geometric")
    }
    np.testing.assert_allclose(ends["median"], 4e-6, rtol=1e-4)
    np.testing.assert_allclose(ends["mean"], 200.0, rtol=1e-4)
    np.testing.assert_allclose(ends["geometric"], (64e-24 * 1000) ** 0.2, rtol=1e-3)


def test_rounding_of_single_precision_is_no_doubt_about_the_optimum(tmp_path):
    dataset = make_dataset(tmp_path, [Run([12.0, 10.0 - 5e-6], spec={"dtype": "float32"})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gap(dataset, "objective").values.min() == 0.0


def test_overshooting_a_common_tolerance_does_not_make_a_run_better(tmp_path):
    """Who stops at a tolerance is compared by the effort, not by how far it jumped below it."""
    given = {"tolerance": 1e-2, "iterations": 50}
    quick = [20.0, 12.0, 10.0 + 6e-5]
    slow = [20.0, 15.0, 12.0, 11.0, 10.0 + 4e-5]
    runs = [
        Run(quick, "wdbc", "vn", spec=given, status="converged"),
        Run(slow, "wdbc", "gd", spec=given, status="converged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    best = Ranking.of(dataset).best(configurations(dataset), lambda config: config.problem)
    assert [config.solver for config in best.values()] == ["vn"]
    # Where tolerances differ, a loose one is no advantage.
    runs[0].spec = {**given, "tolerance": 1e9}
    dataset = make_dataset(tmp_path, runs)
    best = Ranking.of(dataset).best(configurations(dataset), lambda config: config.problem)
    assert [config.solver for config in best.values()] == ["gd"]
