"""Figure `temperature`."""

import numpy as np
import pytest

from figures.drawn import (
    LAYOUTS,
    assert_nothing_is_cut_or_overlaps,
    lay_out,
    legend_texts,
    legend_title,
    lines,
    plot,
)
from figures.made_aggregate import Run, make_dataset
from gvibench.figures.temperature import colors

GAMMAS = (0.0, 0.1, 1.0)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Two solvers and two seeds. A run of VN ends 1 + 10 gamma + seed nats above the optimum."""
    runs = []
    for gamma in reversed(GAMMAS):
        for seed in (0, 1):
            ends = 11.0 + 10 * gamma + seed
            runs.append(Run([50.0, 20.0, ends], seed=seed, spec={"gamma": gamma}))
            gone = {"status": "diverged"} if (gamma, seed) == (0.0, 1) else {}
            curve = [50.0, 40.0, ends + 4]
            runs.append(Run(curve, solver="bw-gd", seed=seed, spec={"gamma": gamma}, **gone))
    return make_dataset(tmp_path_factory.mktemp("temperature"), runs)


@pytest.fixture(scope="module")
def drawing(dataset):
    return plot("temperature", dataset)


def test_gaps_have_the_colour_of_their_temperature(drawing):
    figure, *_ = drawing
    axes = figure.axes[0]
    assert axes.get_title() == "wdbc"  # one panel for all temperatures
    drawn = lines(axes)
    assert len(drawn) == 6
    np.testing.assert_allclose(drawn["VN, 0"][1], [40.0, 10.0, 1.5])
    np.testing.assert_allclose(drawn["VN, 0.1"][1], [40.0, 10.0, 2.5])
    np.testing.assert_allclose(drawn["BW-GD, 0"][1], [40.0, 30.0, 5.0])  # only seed 0 is usable
    shades = colors(GAMMAS)
    assert len(set(shades.values())) == 3
    dashes = {}
    for line in axes.get_lines():
        solver, gamma = line.get_label().split(", ")
        assert line.get_color() == shades[float(gamma)]
        dashes.setdefault(solver, set()).add(line.is_dashed())
    assert dashes == {"VN": {False}, "BW-GD": {True}}


def test_final_test_metrics_are_ordered_by_temperature(drawing):
    figure, *_ = drawing
    _, nll, accuracy = figure.axes
    assert "sum" in nll.get_ylabel()
    assert nll.get_xscale() == "linear"
    # The test NLL is half the objective in these runs.
    of_vn, of_bw_gd = (line.get_ydata() for line in nll.get_lines())
    np.testing.assert_allclose(nll.get_lines()[0].get_xdata(), GAMMAS)
    np.testing.assert_allclose(of_vn, [5.75, 6.25, 10.75])
    np.testing.assert_allclose(of_bw_gd, [7.5, 8.25, 12.75])
    np.testing.assert_allclose(accuracy.get_lines()[0].get_ydata(), 0.9)


def test_legend_explains_colours_and_lines(drawing):
    figure, *_ = drawing
    assert legend_texts(figure) == [
        r"$\gamma$ = 0",
        r"$\gamma$ = 0.1",
        r"$\gamma$ = 1",
        "VN",
        "BW-GD",
    ]
    assert "MAP" in legend_title(figure)
    assert [text.get_text() for text in figure.axes[0].texts] == [
        r"diverged: BW-GD at $\gamma$ = 0 1/2"
    ]


@pytest.mark.parametrize("style", LAYOUTS)
def test_nothing_is_cut_or_overlaps(dataset, style):
    assert_nothing_is_cut_or_overlaps(lay_out("temperature", dataset, style))


def test_the_table_is_what_is_drawn(drawing):
    figure, _, table = drawing
    gaps, nll, accuracy = figure.axes
    for label, points in lines(gaps).items():
        line, gamma = label.split(", ")
        rows = table[(table["line"] == line) & (table["gamma"] == float(gamma))]
        rows = rows[rows["quantity"] == "objective gap"]
        np.testing.assert_array_equal(points.T, rows[["iteration", "center"]].to_numpy())
    for axes, quantity in ((nll, "test_nll"), (accuracy, "test_accuracy")):
        for line, (at, center) in lines(axes).items():
            rows = table[(table["quantity"] == quantity) & (table["line"] == line)]
            medians = rows.groupby("gamma")["center"].median()
            np.testing.assert_array_equal(at, medians.index)
            np.testing.assert_allclose(center, medians)


def test_temperatures_over_decades_have_a_logarithmic_axis_with_zero(tmp_path):
    runs = [
        Run([50.0, 20.0, 11.0 + gamma], spec={"gamma": gamma}) for gamma in (0.0, 0.001, 0.1, 10.0)
    ]
    figure, *_ = plot("temperature", make_dataset(tmp_path, runs))
    assert figure.axes[1].get_xscale() == "symlog"
