"""Figures `score-ecdf`, `score-intervals`, `score-profile` and `score-heatmap`."""

import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Rectangle

from analysis.made_outcomes import outcomes_from, random_outcomes
from figures.drawn import (
    LAYOUTS,
    PAGE,
    assert_nothing_is_cut_or_overlaps,
    legend_texts,
    legend_title,
    lines,
    plot,
    with_gid,
)
from figures.made_aggregate import make_dataset, study
from gvibench.analysis.scores import area, shares
from gvibench.errors import UserError
from gvibench.figures.entries import entry_styles
from gvibench.figures.score_ecdf import draw_scores
from gvibench.figures.score_heatmap import draw_heatmap
from gvibench.figures.score_intervals import draw_intervals
from gvibench.figures.score_profile import draw_profiles
from gvibench.figures.style import PALETTE
from gvibench.figures.theme import theme
from gvibench.spec.scoring import SCORE_FIGURES, ScoreSettings

SETTINGS = ScoreSettings(draws=200)
DRAW = (draw_scores, draw_intervals, draw_profiles, draw_heatmap)


@pytest.fixture(scope="module")
def outcomes():
    """VN needs 10 passes on both problems; GD needs 100 and reaches no target on `b`."""
    costs = np.stack([np.full((4, 2), 10.0), np.full((4, 2), 100.0), np.full((4, 2), np.nan)])
    costs[1, 2:] = np.inf
    return outcomes_from(costs, ["a", "a", "b", "b"], [1e-2, 1e-8], ["VN", "GD", "mine"])


def drawn(draw, outcomes, style=PAGE):
    with theme(style):
        return draw(outcomes, SETTINGS, style)


def test_ecdf_shows_shares_and_scores(outcomes):
    figure, table = drawn(draw_scores, outcomes)
    passes, seconds = figure.axes
    assert passes.get_xlim() == (1.0, 1000.0)
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "passes over the data",
        "solver time [s]",
    ]
    for name in ("VN", "GD", "mine"):
        at, share = lines(passes)[name]
        expected = shares(outcomes.sel(entry=[name]), at.tolist()).values[0]
        np.testing.assert_allclose(share, expected)
    assert lines(passes)["GD"][1].max() == 0.5
    assert lines(seconds)["VN"][1].max() == 1.0
    scores = area(outcomes, 1000.0).values
    assert legend_texts(figure) == [
        f"{name} ({score:.3f})" for name, score in zip(("VN", "GD", "mine"), scores, strict=True)
    ]
    assert "2 targets from 100 to 1e-08 nat" in legend_title(figure)
    assert len(passes.collections) == 3  # bands
    assert set(table["panel"]) == {"data passes", "solver time"}


def test_many_lines_have_no_bands():
    figure, _ = drawn(draw_scores, random_outcomes(6, 3, 2, 4))
    assert not figure.axes[0].collections
    assert "bands" not in legend_title(figure)


def test_a_benchmark_in_seconds_has_one_panel(outcomes):
    figure, _ = drawn(draw_scores, outcomes.assign_attrs(cost="seconds"))
    assert [axes.get_xlabel() for axes in figure.axes] == ["solver time [s]"]


def test_intervals_are_sorted_and_ties_are_bracketed(outcomes):
    figure, table = drawn(draw_intervals, outcomes.isel(entry=[2, 0, 1]))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["VN", "GD", "mine"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the best entry is at the top
    for y, row in enumerate(table.itertuples()):
        np.testing.assert_allclose(lines(axes)[row.line].ravel(), [row.score, y])
    (bracket,) = with_gid(axes, "ties")
    assert bracket[1].min() == pytest.approx(0.8)
    assert bracket[1].max() == pytest.approx(2.2)
    assert bracket[0].min() > table["score_high"].max()
    assert legend_texts(figure) == ["solvers that are not separable"]


def test_brackets_do_not_overlap():
    figure, _ = drawn(draw_intervals, random_outcomes())
    brackets = sorted((x[0], y[0], y[1]) for x, y in with_gid(figure.axes[0], "ties"))
    for (x, _, end), (other, start, _) in itertools.pairwise(brackets):
        assert x != other or end < start
    assert max(x for x, _, _ in brackets) < figure.axes[0].get_xlim()[1]


def test_profiles_show_ratios_up_to_100(outcomes):
    figure, _ = drawn(draw_profiles, outcomes)
    assert [axes.get_title() for axes in figure.axes] == ["gap of 0.01 nat", "gap of 1e-08 nat"]
    for axes in figure.axes:
        assert axes.get_xlim() == (1.0, 100.0)
        ratio, share = lines(axes)["GD"]
        assert ratio.tolist() == [1.0, 10.0, 100.0]
        assert share.tolist() == [0.0, 0.5, 0.5]
        assert lines(axes)["VN"][1].tolist() == [1.0, 1.0]
        assert lines(axes)["mine"][1].tolist() == [0.0, 0.0]


def test_heatmap_marks_targets_that_were_not_reached(outcomes):
    figure, table = drawn(draw_heatmap, outcomes)
    axes = figure.axes[0]
    words = {text.get_position(): text.get_text() for text in axes.texts}
    assert words == {
        **{(0, 0): "10", (1, 0): "100", (2, 0): "–"},
        **{(0, 1): "10", (1, 1): "0%", (2, 1): "–"},
    }
    cells = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(cells) == len({cell.get_xy() for cell in cells}) == 6
    assert table["cost"].tolist()[:2] == [10.0, 100.0]
    assert "–: no run" in legend_title(figure)
    (entry,) = legend_texts(figure)
    assert entry.startswith("not reached on half of the instances")


def test_the_heatmap_shows_the_easier_target_if_hardly_any_entry_reaches_the_other(outcomes):
    hard = outcomes["target"] < 1e-3
    figure, table = drawn(draw_heatmap, outcomes.assign(cost=outcomes["cost"].where(~hard, np.inf)))
    assert "a gap of 0.01 nat" in figure.axes[1].get_xlabel()
    assert np.isfinite(table["cost"]).any()


@pytest.mark.parametrize("style", LAYOUTS, ids=["page", "column"])
@pytest.mark.parametrize("draw", DRAW, ids=SCORE_FIGURES)
def test_nothing_is_cut_or_overlaps(draw, style):
    many = random_outcomes(14, 12, 2, 9)
    many = many.assign_coords(entry=[f"a solver with the number {k}" for k in range(14)])
    with theme(style):
        figure, _ = draw(many, SETTINGS, style)
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()
    assert_nothing_is_cut_or_overlaps(figure)


@pytest.mark.parametrize("draw", DRAW, ids=SCORE_FIGURES)
@pytest.mark.parametrize("cost", [np.nan, np.inf, 0.0, 1.0, 5000.0])
def test_extreme_outcomes_are_drawn(draw, cost):
    figure, table = drawn(draw, outcomes_from(np.full((2, 1, 1), cost), ["a"]))
    figure.draw_without_rendering()
    assert len(table) > 0


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("study"), study())


@pytest.mark.parametrize("name", SCORE_FIGURES)
def test_studies_show_their_best_configurations(dataset, name):
    drawing = plot(name, dataset)
    assert {config.line for config in drawing.shown} == {"VN", "SR-VN", "mine"}
    assert {config.step for config in drawing.shown if config.line == "VN"} == {0.5}


def test_studies_have_the_colours_of_their_other_figures(dataset):
    figure = plot("score-ecdf", dataset).figure
    colors = {line.get_label(): line.get_color() for line in figure.axes[0].get_lines()}
    assert colors["SR-VN"] == PALETTE["sr-vn"].color


def test_a_study_without_optimum_is_an_error(dataset):
    with pytest.raises(UserError, match="scores need the optimum"):
        plot("score-ecdf", dataset.assign_attrs(gap="best-seen"))


def test_entries_have_the_colour_of_their_solver():
    styles = entry_styles(["VN", "VN, iterations 5", "GD-Chol", "mine"])
    assert styles["VN"] == PALETTE["vn"]
    assert styles["VN, iterations 5"].color == PALETTE["vn"].color
    assert styles["VN, iterations 5"].dash != PALETTE["vn"].dash
    assert styles["GD-Chol"] == PALETTE["gd-chol"]
    assert styles["mine"].color not in {look.color for look in PALETTE.values()}


def test_an_entry_has_the_colour_of_the_solver_with_which_its_name_begins():
    styles = entry_styles(["VN", "vn-price", "VN-PD", "SVGD", "advi-stl", "gdx"])
    solvers = {"VN": "vn", "vn-price": "vn", "VN-PD": "vn-pd", "SVGD": "svgd-density"}
    solvers["advi-stl"] = "advi"
    for entry, solver in solvers.items():
        assert styles[entry].color == PALETTE[solver].color
    assert styles["gdx"].color not in {look.color for look in PALETTE.values()}
    assert styles["VN"].dash != styles["vn-price"].dash
