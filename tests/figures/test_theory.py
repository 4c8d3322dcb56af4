"""Figure `theory`."""

import numpy as np
import pytest

from analysis.theory_runs import DATA, mixed_runs, run_spec, study
from figures.drawn import legend_texts, plot
from gvibench.analysis.theory_checks import measure
from gvibench.figures.style import FLOOR
from gvibench.figures.theory import BOUND, MEASURED, VIOLATION


@pytest.fixture(scope="module")
def dataset():
    return study(*mixed_runs(iterations=60))


@pytest.fixture(scope="module")
def drawing(dataset):
    return plot("theory", dataset)


def lines(axes, label):
    return [np.array(line.get_data()) for line in axes.get_lines() if line.get_label() == label]


def test_each_configuration_with_a_claim_has_a_panel(drawing):
    figure, shown, _ = drawing
    assert [config.solver for config in shown] == ["sr-vn", "sr-vn", "ng-flow", "bw-gd", "sr-vn"]
    assert len(figure.axes) == 5
    titles = [axes.get_title().replace("\n", " ") for axes in figure.axes]
    assert "BW-GD" in titles[3]
    assert "step\u00a00.02" in titles[3]


def test_lines_show_measured_values_and_bounds(drawing, dataset):
    figure, *_ = drawing
    runs = measure(dataset)
    both = figure.axes[0]  # two seeds
    assert len(lines(both, MEASURED)) == len(lines(both, BOUND)) == 2
    for axes, run in zip(
        (both, *figure.axes[2:]), (runs[0], runs[3], runs[4], runs[6]), strict=True
    ):
        at, values = lines(axes, MEASURED)[0]
        np.testing.assert_allclose(at, run.claim.iteration)
        np.testing.assert_allclose(values, np.maximum(run.claim.values, FLOOR))
        np.testing.assert_allclose(lines(axes, BOUND)[0][1], run.claim.bound)


def test_a_panel_without_a_bound_shows_the_reason(drawing):
    figure, *_ = drawing
    panel = figure.axes[1]
    assert lines(panel, BOUND) == []
    words = " ".join(text.get_text() for text in panel.texts).replace("\n", " ")
    assert words == "no bound: eta is not positive"
    assert len(figure.axes[0].texts) == 0


def test_the_first_violation_is_marked(drawing, dataset):
    figure, *_ = drawing
    claim = measure(dataset)[6].claim
    (marked,) = lines(figure.axes[4], VIOLATION)
    assert marked[0].tolist() == [claim.verdict.violated_at]
    assert legend_texts(figure) == [
        "SR-VN",
        "NG-Flow",
        "BW-GD",
        "claimed bound",
        "first violation",
    ]


def test_a_study_without_claims_has_an_empty_panel():
    figure, shown, _ = plot(
        "theory", study((DATA, run_spec(DATA, "vn", 0.1, init_scale=0.4, iterations=60)))
    )
    assert shown == []
    assert figure.axes[0].get_title().replace("\n", " ") == "no claim covers these solvers"


def test_the_table_is_what_is_drawn(drawing):
    figure, shown, table = drawing
    assert len(shown) == len(figure.axes)
    assert set(table["panel"]) == {axes.get_title().replace("\n", " ") for axes in figure.axes}
    for axes in figure.axes:
        here = table[table["panel"] == axes.get_title().replace("\n", " ")]
        for quantity in (MEASURED, BOUND, VIOLATION):
            rows = here[here["quantity"] == quantity]
            drawn = [points.T for points in lines(axes, quantity)]
            assert sum(map(len, drawn)) == len(rows)
            if len(drawn):
                expected = rows[["iteration", "value"]].to_numpy()
                np.testing.assert_array_equal(np.concatenate(drawn), expected)
        assert axes.get_ylabel() in {"objective gap [nat]", "squared $W_2$ distance"}
