"""Figure `sensitivity`."""

import numpy as np
import pytest

from figures.drawn import legend_texts, plot
from figures.made_aggregate import Run, make_dataset, study
from gvibench.analysis.configurations import configurations
from gvibench.figures.style import FLOOR, PALETTE


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("study"), study())


@pytest.fixture(scope="module")
def drawing(dataset):
    return plot("sensitivity", dataset)


def test_all_steps_are_shown_and_crosses_mark_diverged_seeds(dataset, drawing):
    figure, shown, _ = drawing
    assert len(shown) == len(configurations(dataset))
    axes = figure.axes[0]
    curves = [line for line in axes.get_lines() if line.get_gid() != "unusable"]
    steps, final = curves[0].get_data()
    np.testing.assert_allclose(steps, [0.1, 0.5])
    np.testing.assert_allclose(final, [30.1, FLOOR])
    assert curves[0].get_color() == PALETTE["vn"].color
    crosses = [line for line in axes.get_lines() if line.get_gid() == "unusable"]
    assert sorted(x for line in crosses for x in line.get_xdata()) == [0.1, 7.0]


def test_lines_of_one_solver_have_different_markers(tmp_path):
    runs = [
        Run([20.0, 11.0 + scale], step=step, spec={"mean_scale": scale})
        for step in (0.1, 0.2)
        for scale in (0.0, 5.0)
    ]
    figure, *_ = plot("sensitivity", make_dataset(tmp_path, runs))
    drawn = [line for line in figure.axes[0].get_lines() if line.get_gid() != "unusable"]
    assert len({line.get_marker() for line in drawn}) == 2


def test_the_table_is_what_is_drawn(drawing):
    figure, _, table = drawing
    for axes, (_, here) in zip(figure.axes, table.groupby("panel", sort=False), strict=True):
        curves = [line for line in axes.get_lines() if line.get_gid() != "unusable"]
        groups = here.dropna(subset="gap").groupby(["line", "init_scale"], sort=False)
        assert len(curves) == len(groups)
        for curve, (_, rows) in zip(curves, groups, strict=True):
            medians = rows.groupby("step")["gap"].median()
            np.testing.assert_array_equal(curve.get_xdata(), medians.index)
            np.testing.assert_allclose(curve.get_ydata(), medians)
        lost = [line for line in axes.get_lines() if line.get_gid() == "unusable"]
        steps = {x for line in lost for x in line.get_xdata()}
        assert steps == set(here[here["gap"].isna()]["step"])
        heights = [y for line in lost for y in line.get_ydata()]
        assert len(set(heights)) == len(lost) == 2  # Crosses of different lines do not overlap.


def test_the_legend_has_no_entry_without_a_line(drawing):
    figure, *_ = drawing
    assert legend_texts(figure) == [
        *("VN", "SR-VN", "mine"),  # The crosses of 'mine' have its colour.
        *("$C_0$ = 0.1", "$C_0$ = 1", "a seed diverged or failed"),
    ]
