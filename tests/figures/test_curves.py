"""Figures `gap`, `test`, `time` and `test-time`."""

import numpy as np
import pytest

from figures.drawn import PAGE, legend_texts, legend_title, lines, plot
from figures.made_aggregate import Run, make_dataset, study
from gvibench.figures.curves import TEST_FLOOR
from gvibench.figures.lines import FLOOR


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("study"), study())


def test_gap_shows_the_median_of_the_best_configuration(dataset):
    figure, shown = plot("gap", dataset)
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


def test_gap_shows_bands_from_minimum_to_maximum(dataset):
    figure, _ = plot("gap", dataset)
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    at_zero = band[band[:, 0] == 0, 1]
    assert at_zero.min() == pytest.approx(50.0)
    assert at_zero.max() == pytest.approx(50.2)


def test_test_shows_nll_gap_and_accuracy(dataset):
    figure, _ = plot("test", dataset)
    above, below = figure.axes[0], figure.axes[2]
    assert "sum" in above.get_ylabel()
    assert below.get_ylabel() == "test accuracy"
    # The test NLL is half the objective in this study, so the optimum has the best value.
    nll = [25.05, 2.55, 2.5e-3, TEST_FLOOR, TEST_FLOOR, TEST_FLOOR]
    np.testing.assert_allclose(lines(above)["VN"][1], nll, rtol=1e-6)
    np.testing.assert_allclose(lines(below)["VN"][1], np.linspace(0.5, 0.9, 6))


def test_test_omits_the_accuracy_of_regressions(tmp_path):
    run = Run([15.0, 11.0], scalars={"test_accuracy": [np.nan, np.nan]})
    figure, _ = plot("test", make_dataset(tmp_path, [run]))
    assert len(figure.axes) == 1


def test_time_ends_with_the_first_seed(tmp_path):
    runs = [
        Run([15.0, 14.0, 13.0], seconds=[0.0, 1.0, 2.0]),
        Run([15.0, 12.0, 11.0], seed=1, seconds=[0.0, 1.0, 4.0]),
    ]
    figure, _ = plot("time", make_dataset(tmp_path, runs))
    at, center = lines(figure.axes[0])["VN"]
    assert (at[0], at[-1]) == (1.0, 2.0)
    assert (at[1], center[0]) == (1.0, 5.0)  # initial values of both
    np.testing.assert_allclose(center[1:-1], 3.0)  # gaps 4 and 2
    assert center[-1] == pytest.approx(2.5)  # gaps 3 and 2
    assert "end where the first seed stopped" in legend_title(figure)


def test_legend_explains_the_lines(dataset, tmp_path):
    figure, _ = plot("gap", dataset)
    title = legend_title(figure)
    assert "3 seeds" in title
    assert "best step and initial scale" in title
    assert legend_texts(figure) == ["VN", "SR-VN", "mine"]
    figure, _ = plot("gap", make_dataset(tmp_path, [Run([15.0, 11.0])]))
    assert legend_title(figure) == ""


def test_panels_name_lines_that_diverged(dataset):
    figure, _ = plot("gap", dataset)
    notes = [text.get_text() for text in figure.axes[0].texts]
    assert any("SR-VN 1/3" in note and "mine 3/3" in note for note in notes)


def test_notes_name_the_floor_short_runs_and_failed_seeds(tmp_path):
    runs = [
        Run([20.0, 12.0, 10.0], seed=0),
        Run([20.0, 12.0, 10.0], seed=1),
        Run([20.0, 12.0], "wdbc", "ng-flow", seed=0),
        Run([20.0, 99.0], "wdbc", "ng-flow", seed=1, status="failed"),
    ]
    figure, _ = plot("gap", make_dataset(tmp_path, runs))
    title = legend_title(figure)
    assert "median and min–max over 2 seeds" in title
    assert "gaps below 1e-12 are drawn at 1e-12" in title
    assert "NG-Flow ends at 1 of 2 iterations" in title
    assert [text.get_text() for text in figure.axes[0].texts] == ["failed: NG-Flow 1/2"]


@pytest.mark.parametrize(("center", "expected"), [("mean", 2.0), ("median", 1.0)])
def test_the_style_sets_the_centre_of_lines(tmp_path, center, expected):
    ends = (10.5, 11.0, 14.5)
    runs = [Run([20.0, end], seed=seed) for seed, end in enumerate(ends)]
    figure, _ = plot("gap", make_dataset(tmp_path, runs), {**PAGE, "center": center})
    assert lines(figure.axes[0])["VN"][1][-1] == pytest.approx(expected)


def test_a_geometric_mean_with_a_zero_can_be_drawn(tmp_path):
    ends = (10.0, 11.0, 14.0)
    runs = [Run([20.0, end], seed=seed) for seed, end in enumerate(ends)]
    figure, _ = plot("gap", make_dataset(tmp_path, runs), {**PAGE, "center": "geometric"})
    expected = (FLOOR * 1.0 * 4.0) ** (1 / 3)
    assert lines(figure.axes[0])["VN"][1][-1] == pytest.approx(expected)
