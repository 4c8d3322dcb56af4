"""Figure `sensitivity`."""

import numpy as np

from figures.drawn import plot
from figures.made_aggregate import Run, make_dataset, study
from gvibench.analysis.configurations import configurations
from gvibench.figures.lines import FLOOR
from gvibench.figures.style import PALETTE


def test_all_steps_are_shown_and_crosses_mark_diverged_seeds(tmp_path):
    dataset = make_dataset(tmp_path, study())
    figure, shown = plot("sensitivity", dataset)
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
    figure, _ = plot("sensitivity", make_dataset(tmp_path, runs))
    drawn = [line for line in figure.axes[0].get_lines() if line.get_gid() != "unusable"]
    assert len({line.get_marker() for line in drawn}) == 2
