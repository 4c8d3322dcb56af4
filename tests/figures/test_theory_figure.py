import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from gvibench.analysis.theory_checks import measure
from gvibench.figures import theory
from gvibench.figures.style import settings
from theory_runs import problem, run_spec, study

STYLE = {"width": "page", "font_size": 8.0, "center": "median"}
DATA = problem()
NARROW = problem(n=4, scale=0.3)


def run(solver, step, data=DATA, **changes):
    return data, run_spec(data, solver, step, **{"init_scale": 0.4, "iterations": 60, **changes})


@pytest.fixture(scope="module")
def dataset():
    return study(
        run("sr-vn", 0.05),
        run("sr-vn", 0.05, seed=1),
        run("sr-vn", 1.0),
        run("ng-flow", 0.05),
        run("bw-gd", 0.02),
        run("vn", 0.1),
        run("sr-vn", 0.002, NARROW, init_scale=2.5, mean_scale=0.0, iterations=40),
    )


def plot(dataset):
    with matplotlib.rc_context(settings(STYLE)):
        figure, shown = theory.plot(dataset, STYLE)
        FigureCanvasAgg(figure).draw()
    return figure, shown


def lines(axes, label):
    return [np.array(one.get_data()) for one in axes.get_lines() if one.get_label() == label]


def test_a_panel_for_every_configuration_that_a_claim_speaks_of(dataset):
    figure, shown = plot(dataset)
    assert [one.solver for one in shown] == ["sr-vn", "sr-vn", "ng-flow", "bw-gd", "sr-vn"]
    assert len(figure.axes) == 5
    titles = [axes.get_title().replace("\n", " ") for axes in figure.axes]
    assert "BW-GD" in titles[3]
    assert "step\u00a00.02" in titles[3]


def test_lines_are_what_was_measured_and_claimed(dataset):
    figure, _ = plot(dataset)
    found = measure(dataset)
    both = figure.axes[0]  # two seeds
    assert len(lines(both, "measured")) == len(lines(both, "bound")) == 2
    for axes, one in zip(
        (both, *figure.axes[2:]), (found[0], found[3], found[4], found[6]), strict=True
    ):
        at, values = lines(axes, "measured")[0]
        np.testing.assert_allclose(at, one.claim.iteration)
        np.testing.assert_allclose(values, np.maximum(one.claim.values, theory.FLOOR))
        np.testing.assert_allclose(lines(axes, "bound")[0][1], one.claim.bound)


def test_a_panel_without_a_bound_says_why(dataset):
    figure, _ = plot(dataset)
    silent = figure.axes[1]
    assert lines(silent, "bound") == []
    words = " ".join(text.get_text() for text in silent.texts).replace("\n", " ")
    assert words == "not applicable: eta is not positive"
    assert len(figure.axes[0].texts) == 0


def test_the_first_violation_is_marked(dataset):
    figure, _ = plot(dataset)
    claim = measure(dataset)[6].claim
    (marked,) = lines(figure.axes[4], "violation")
    assert marked[0].tolist() == [claim.verdict.violated_at]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "SR-VN",
        "NG-Flow",
        "BW-GD",
        "claimed bound",
        "first violation",
    ]


def test_a_study_that_no_claim_speaks_of(dataset):
    figure, shown = plot(study(run("vn", 0.1)))
    assert shown == []
    assert figure.axes[0].get_title().replace("\n", " ") == "no claim speaks of these solvers"
