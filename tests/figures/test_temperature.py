"""Figure `temperature`."""

import numpy as np
import pytest

from figures.drawn import (
    COLUMN,
    PAGE,
    assert_nothing_is_cut_or_overlaps,
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


def test_gaps_have_the_colour_of_their_temperature(dataset):
    figure, _ = plot("temperature", dataset)
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


def test_final_test_metrics_are_ordered_by_temperature(dataset):
    figure, _ = plot("temperature", dataset)
    _, nll, accuracy = figure.axes
    assert "sum" in nll.get_ylabel()
    assert [text.get_text() for text in nll.get_xticklabels()] == ["0", "0.1", "1"]
    # The test NLL is half the objective in these runs.
    of_vn, of_bw_gd = (line.get_ydata() for line in nll.get_lines())
    np.testing.assert_allclose(of_vn, [5.75, 6.25, 10.75])
    np.testing.assert_allclose(of_bw_gd, [7.5, 8.25, 12.75])
    np.testing.assert_allclose(accuracy.get_lines()[0].get_ydata(), 0.9)


def test_legend_explains_colours_and_lines(dataset):
    figure, _ = plot("temperature", dataset)
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


@pytest.mark.parametrize("style", [PAGE, COLUMN, {**COLUMN, "font_size": 12.0}])
def test_nothing_is_cut_or_overlaps(dataset, style):
    figure, _ = plot("temperature", dataset, style)
    assert_nothing_is_cut_or_overlaps(figure)
