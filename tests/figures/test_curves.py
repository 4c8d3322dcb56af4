"""Figures `gap`, `test`, `time` and `test-time`."""

import numpy as np
import pytest

from figures.drawn import COLUMN, PAGE, legend_texts, legend_title, lines, notes, plot
from figures.made_aggregate import Run, make_dataset, study
from gvibench.figures.style import FLOOR


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("study"), study())


@pytest.fixture(scope="module")
def drawings(dataset):
    return {name: plot(name, dataset) for name in ("gap", "time", "test", "test-time")}


def test_gap_shows_the_median_of_the_best_configuration(drawings):
    figure, shown, _ = drawings["gap"]
    first, second = figure.axes
    assert [first.get_title(), second.get_title()] == ["wdbc", "digits_50%"]
    assert first.get_yscale() == "log"
    drawn = lines(first)
    assert set(drawn) == {"VN", "SR-VN"}  # all seeds of 'mine' diverged
    at, center = drawn["VN"]
    np.testing.assert_allclose(at, range(6))
    np.testing.assert_allclose(center, [50.1, 5.1, 5e-3, 5e-5, FLOOR, FLOOR], rtol=1e-6)
    np.testing.assert_allclose(drawn["SR-VN"][1], np.array([50, 25, 12, 6, 3, 1]) + 0.05)
    assert [(config.line, config.step) for config in shown[:3]] == [
        ("VN", 0.5),
        ("SR-VN", 0.1),
        ("mine", 7),
    ]


def test_gap_shows_bands_from_minimum_to_maximum(drawings):
    figure, *_ = drawings["gap"]
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    at_zero = band[band[:, 0] == 0, 1]
    assert at_zero.min() == pytest.approx(50.0)
    assert at_zero.max() == pytest.approx(50.2)


def test_test_shows_nll_and_accuracy(drawings):
    figure, *_ = drawings["test"]
    above, below = figure.axes[0], figure.axes[2]
    assert "sum" in above.get_ylabel()
    assert below.get_ylabel() == "test accuracy"
    # The test NLL is half the objective in this study.
    nll = [30.05, 7.55, 5.0025, 5.000025, 5.0, 5.0]
    np.testing.assert_allclose(lines(above)["VN"][1], nll, rtol=1e-6)
    np.testing.assert_allclose(lines(below)["VN"][1], np.linspace(0.5, 0.9, 6))


def test_test_omits_the_accuracy_of_regressions(tmp_path):
    run = Run([15.0, 11.0], scalars={"test_accuracy": [np.nan, np.nan]})
    figure, *_ = plot("test", make_dataset(tmp_path, [run]))
    assert len(figure.axes) == 1


def test_time_ends_with_the_first_seed(tmp_path):
    runs = [
        Run([15.0, 14.0, 13.0], seconds=[0.0, 1.0, 2.0]),
        Run([15.0, 12.0, 11.0], seed=1, seconds=[0.0, 1.0, 4.0]),
    ]
    figure, *_ = plot("time", make_dataset(tmp_path, runs))
    at, center = lines(figure.axes[0])["VN"]
    assert (at[0], at[-1]) == (1.0, 2.0)
    assert (at[1], center[0]) == (1.0, 5.0)  # initial values of both
    np.testing.assert_allclose(center[1:-1], 3.0)  # gaps 4 and 2
    assert center[-1] == pytest.approx(2.5)  # gaps 3 and 2
    assert "end where the first seed stopped" in legend_title(figure)


def test_legend_explains_the_lines(dataset, drawings):
    figure, *_ = drawings["gap"]
    title = legend_title(figure)
    assert "3 seeds" in title
    assert "best step and initial scale" in title
    assert legend_texts(figure) == ["VN", "SR-VN"]  # All seeds of 'mine' diverged.
    figure, *_ = plot("gap", dataset.isel(run=[1]))  # One seed and one step need no notes.
    assert legend_title(figure) == ""


def test_panels_name_lines_that_diverged(drawings):
    figure, *_ = drawings["gap"]
    notes = [text.get_text() for text in figure.axes[0].texts]
    assert any("SR-VN 1/3" in note and "mine 3/3" in note for note in notes)


def test_notes_name_the_floor_short_runs_and_failed_seeds(tmp_path):
    runs = [
        Run([20.0, 12.0, 10.0], seed=0),
        Run([20.0, 12.0, 10.0], seed=1),
        Run([20.0, 12.0], "wdbc", "ng-flow", seed=0),
        Run([20.0, 99.0], "wdbc", "ng-flow", seed=1, status="failed"),
    ]
    figure, *_ = plot("gap", make_dataset(tmp_path, runs))
    title = legend_title(figure)
    assert "median and min–max over 2 seeds" in title
    assert "gaps below 1e-12 are drawn at 1e-12" in title
    assert "NG-Flow ends at 1 of 2 iterations" in title
    assert [text.get_text() for text in figure.axes[0].texts] == ["failed: NG-Flow 1/2"]


def test_the_style_sets_the_centre_of_lines(tmp_path):
    """The geometric mean is drawn although a gap is zero."""
    runs = [Run([20.0, end], seed=seed) for seed, end in enumerate((10.0, 11.0, 14.0))]
    dataset = make_dataset(tmp_path, runs)
    expected = {"mean": 5 / 3, "median": 1.0, "geometric": (FLOOR * 4.0) ** (1 / 3)}
    for center, value in expected.items():
        figure, *_ = plot("gap", dataset, {**PAGE, "center": center})
        assert lines(figure.axes[0])["VN"][1][-1] == pytest.approx(value)


@pytest.mark.parametrize("name", ["gap", "time", "test", "test-time"])
def test_the_table_is_what_is_drawn(drawings, name):
    figure, _, table = drawings[name]
    x = "seconds" if name.endswith("time") else "iteration"
    quantities = ["test NLL", "test accuracy"] if name.startswith("test") else [None]
    drawn = 0
    for k, axes in enumerate(figure.axes):
        panel, quantity = ("wdbc", "digits_50%")[k % 2], quantities[k // 2]
        rows = table[table["panel"] == panel]
        rows = rows[rows["quantity"] == quantity] if quantity else rows
        assert list(lines(axes)) == list(dict.fromkeys(rows["line"]))
        for (line, points), band in zip(lines(axes).items(), axes.collections, strict=True):
            expected = rows[rows["line"] == line]
            np.testing.assert_array_equal(points, expected[[x, "center"]].to_numpy().T)
            edges = band.get_paths()[0].vertices
            corners = expected[[x, "low"]].to_numpy().tolist()
            corners += expected[[x, "high"]].to_numpy().tolist()
            assert set(map(tuple, corners)) <= set(map(tuple, edges.tolist()))
            drawn += len(expected)
    assert drawn == len(table)


def test_panels_and_lines_follow_the_order_of_the_study(tmp_path):
    names = ("zebra", "apple", "mango")
    runs = [
        Run([20.0, 11.0 + k], name, solver)
        for name in names
        for k, solver in enumerate(("sr-vn", "bw-gd", "vn"))
    ]
    figure, _, table = plot("gap", make_dataset(tmp_path, runs))
    assert [axes.get_title() for axes in figure.axes] == list(names)
    assert legend_texts(figure) == ["SR-VN", "BW-GD", "VN"]
    assert list(dict.fromkeys(table["panel"])) == list(names)


def test_all_panels_have_the_same_scale_of_iterations(tmp_path):
    runs = [Run([20.0, 12.0, 11.0], "short"), Run(list(np.geomspace(99, 11, 150)), "long")]
    dataset = make_dataset(tmp_path, runs)
    figure, *_ = plot("gap", dataset)
    assert [axes.get_xscale() for axes in figure.axes] == ["symlog", "symlog"]
    figure, *_ = plot("gap", dataset.isel(run=[0]))
    assert figure.axes[0].get_xscale() == "linear"


def test_hidden_lines_are_named(tmp_path):
    curve = [60.0, 20.0, 15.0, 12.0, 11.0]
    runs = [
        Run(curve, solver="bw-gd"),
        Run([60.0, 50.0, 40.0, 30.0, 20.0], solver="vn"),
        Run(curve, solver="fb-gvi"),
    ]
    dataset = make_dataset(tmp_path, runs)
    for style in (PAGE, COLUMN):
        figure, *_ = plot("gap", dataset, style)
        assert notes(figure.axes[0]) == ["BW-GD under FB-GVI"]


def test_lines_that_meet_at_the_floor_are_not_hidden(tmp_path):
    runs = [
        Run([60.0, 10.0, *[10.0] * 20], solver="vn"),
        Run([60.0, 50.0, 20.0, *[10.0] * 19], solver="sr-vn"),
    ]
    figure, *_ = plot("gap", make_dataset(tmp_path, runs))
    assert notes(figure.axes[0]) == []


def test_the_start_of_test_metrics_does_not_hide_their_end(tmp_path):
    nll = [9000.0, 500.0, 60.0, 55.0, 52.0, 51.0, 50.5, 50.2, 50.1, 50.0]
    accuracy = [0.1, 0.8, 0.85, 0.86, 0.87, 0.88, 0.89, 0.9, 0.9, 0.9]
    run = Run([15.0] * 10, scalars={"test_nll": nll, "test_accuracy": accuracy})
    figure, _, table = plot("test", make_dataset(tmp_path, [run]))
    above, below = figure.axes
    assert above.get_yscale() == "log"
    assert 60 < above.get_ylim()[1] < 200
    assert above.get_ylim()[0] > 40
    assert below.get_yscale() == "linear"
    assert 0.7 < below.get_ylim()[0] < 0.87
    assert below.get_ylim()[1] < 0.95
    assert "y axes leave out the start of some lines" in legend_title(figure)
    assert table["center"].max() == 9000.0


def test_an_axis_of_almost_constant_accuracies_is_wide(tmp_path):
    runs = [
        Run([15.0] * 4, name, scalars={"test_accuracy": [value, value, value, value + 1e-4]})
        for name, value in (("good", 0.9999), ("fair", 0.8))
    ]
    figure, *_ = plot("test", make_dataset(tmp_path, runs))
    for axes, value in zip(figure.axes[2:], (0.9999, 0.8), strict=True):
        low, high = axes.get_ylim()
        assert high - low >= 0.05
        assert low < value < high < 1.01


def test_oscillations_are_drawn_as_a_range(tmp_path):
    count = 3000
    steady = 10 + np.geomspace(90.0, 1e-3, count)
    swinging = 11 + np.where(np.arange(count) % 2, 0.9, -0.9) * np.linspace(0, 1, count)
    runs = [Run(list(steady), solver="vn"), Run(list(swinging), solver="gd")]
    figure, _, table = plot("gap", make_dataset(tmp_path, runs))
    assert "GD: median and range of neighbouring iterations" in legend_title(figure)
    drawn = table[table["line"] == "GD"]
    assert len(drawn) <= 400
    assert drawn["high"].iloc[-1] == pytest.approx(1.9, rel=0.01)
    assert drawn["low"].iloc[-1] == pytest.approx(0.1, rel=0.1)
    # The steady line keeps exact points.
    kept = table[table["line"] == "VN"]
    assert len(kept) <= 400
    np.testing.assert_allclose(kept["center"], steady[kept["iteration"].astype(int)] - 10)
    assert kept["iteration"].iloc[[0, -1]].tolist() == [0, count - 1]
