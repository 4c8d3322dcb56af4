"""Test that the plots of a report page agree with the aggregate, for each control."""

import numpy as np
import pytest

from browser.page_plots import (
    check_line,
    click,
    configuration,
    expected,
    point_at,
    trace,
    traces,
    wait_for_lines,
)
from gvibench.analysis.configurations import configurations
from gvibench.analysis.efforts import settled
from gvibench.analysis.gaps import final_values, gap
from gvibench.analysis.ranking import Ranking
from gvibench.figures.profile import ratios
from gvibench.report.page.configuration_data import AXES, METRICS

pytestmark = pytest.mark.browser


def test_the_first_view_agrees_with_the_static_figure(open_page, made):
    dataset, path = made
    page = open_page(path)
    for panel in ("wdbc", "digits_50%"):
        assert [drawn["name"] for drawn in traces(page, panel)] == ["VN", "SR-VN"]
        for line in ("VN", "SR-VN"):
            at, curves = expected(dataset, configuration(dataset, line, panel))
            drawn = trace(page, line, panel)
            check_line(drawn, at, np.maximum(curves["median"], 1e-12))
            assert (drawn["xscale"], drawn["yscale"]) == ("log", "log")
    assert trace(page, "VN")["color"] == "rgb(0,114,178)"
    assert page.inner_text("#curves .unusable >> nth=0") == "diverged: SR-VN 1/3, mine 3/3"


@pytest.mark.parametrize("form", ["gap", "value"])
@pytest.mark.parametrize("metric", METRICS)
def test_metric(open_page, made, metric, form):
    dataset, path = made
    page = open_page(path)
    page.select_option("#metric", f"{metric}:{form}")
    at, curves = expected(dataset, configuration(dataset, "VN"), metric, form)
    drawn = trace(page, "VN")
    floor = METRICS[metric]["floor"] if form == "gap" else -np.inf
    check_line(drawn, at, np.maximum(curves["median"], floor))
    assert drawn["yscale"] == ("log" if form == "gap" else "linear")


@pytest.mark.parametrize("axis", AXES)
def test_horizontal_quantity(open_page, made, axis):
    dataset, path = made
    page = open_page(path)
    page.select_option("#x", axis)
    at, curves = expected(dataset, configuration(dataset, "SR-VN"), axis=axis)
    check_line(trace(page, "SR-VN"), at, curves["median"])


def test_scales_of_the_axes(open_page, made):
    dataset, path = made
    page = open_page(path)
    page.select_option("#xscale", "linear")
    page.select_option("#yscale", "linear")
    drawn = trace(page, "VN")
    assert (drawn["xscale"], drawn["yscale"]) == ("linear", "linear")
    at, curves = expected(dataset, configuration(dataset, "VN"))
    check_line(drawn, at, curves["median"])  # gaps of zero are drawn at zero


@pytest.mark.parametrize(
    ("band", "line", "low", "high"),
    [
        ("minmax", "median", "min", "max"),
        ("mean", "mean", "min", "max"),
        ("quartiles", "median", "quartile_1", "quartile_3"),
        ("none", "median", None, None),
    ],
)
def test_line_and_band(open_page, made, band, line, low, high):
    dataset, path = made
    page = open_page(path)
    page.select_option("#xscale", "linear")
    page.select_option("#band", band)
    at, curves = expected(dataset, configuration(dataset, "SR-VN"))
    check_line(trace(page, "SR-VN"), at, curves[line])
    bands = traces(page, kind="band")
    if low is None:
        assert bands == []
        return
    drawn = trace(page, "SR-VN", kind="band")
    half = len(drawn["x"]) // 2
    upper = {"x": drawn["x"][:half], "y": drawn["y"][:half]}
    lower = {"x": drawn["x"][half:][::-1], "y": drawn["y"][half:][::-1]}
    check_line(upper, at, curves[high])
    check_line(lower, at, curves[low])


def test_band_of_a_metric_that_falls(open_page, made):
    """Values of the accuracy are computed from gaps with the opposite sign."""
    dataset, path = made
    page = open_page(path, "#metric=test_accuracy:value&xscale=linear")
    at, curves = expected(dataset, configuration(dataset, "SR-VN"), "test_accuracy", "value")
    drawn = trace(page, "SR-VN", kind="band")
    half = len(drawn["x"]) // 2
    check_line({"x": drawn["x"][:half], "y": drawn["y"][:half]}, at, curves["max"])


def test_step(open_page, made):
    dataset, path = made
    page = open_page(path)
    page.select_option("#step", "0.1")
    at, curves = expected(dataset, configuration(dataset, "VN", step=0.1))
    check_line(trace(page, "VN"), at, curves["median"])
    page.select_option("#step", "all")
    assert sorted(drawn["step"] for drawn in traces(page) if drawn["name"] == "VN") == [0.1, 0.5]
    page.select_option("#step", "0.5")
    assert [drawn["name"] for drawn in traces(page)] == ["VN"]


def test_initial_scale(open_page, made):
    _, path = made
    page = open_page(path)
    page.select_option("#scale", "0.1")
    assert [(drawn["name"], drawn["scale"]) for drawn in traces(page)] == [("SR-VN", 0.1)]
    page.select_option("#scale", "all")
    assert [drawn["scale"] for drawn in traces(page)] == [1.0, 0.1]


def test_solvers(open_page, made):
    _, path = made
    page = open_page(path)
    page.uncheck("input[name=lines][value=VN]")
    assert [drawn["name"] for drawn in traces(page)] == ["SR-VN"]
    page.click("#solvers >> text=None")
    assert traces(page) == []
    page.click("#solvers >> text=All")
    assert len(traces(page)) == 2
    page.hover("#solvers label:has-text('SR-VN')")
    page.click("[aria-label='Only VN']")
    assert [drawn["name"] for drawn in traces(page)] == ["VN"]


def test_data_sets(open_page, made):
    _, path = made
    page = open_page(path)
    page.uncheck("input[name=panels][value=wdbc]")
    assert traces(page, "wdbc") is None
    assert len(traces(page, "digits_50%")) == 2


def test_hover_and_click_on_a_line(open_page, made):
    dataset, path = made
    page = open_page(path)
    text = point_at(page, "SR-VN", 3)
    _, curves = expected(dataset, configuration(dataset, "SR-VN"))
    assert "SR-VN" in text
    assert f"median: {curves['median'][3]:.4g}" in text
    assert f"min to max: {curves['min'][3]:.4g} … {curves['max'][3]:.4g}" in text
    assert "step 0.1, C0 0.1" in text
    assert "3 seeds, 1 diverged" in text
    click(page)
    wait_for_lines(page, 1)
    assert [drawn["name"] for drawn in traces(page)] == ["SR-VN"]
    point_at(page, "SR-VN", 3)
    click(page)
    wait_for_lines(page, 2)


@pytest.mark.parametrize("level", [0.01, 0.0001])
def test_performance_profiles(open_page, made, level):
    dataset, path = made
    page = open_page(path)
    page.select_option("#level", str(level))
    shown = Ranking.of(dataset).best_lines(configurations(dataset))
    seeds = dataset["seed"].values
    for title, cost in (
        ("Cost in iterations", np.maximum(settled(dataset, level).iterations, 1.0)),
        ("Cost in solver time", np.maximum(settled(dataset, level).seconds, 1e-9)),
    ):
        for line, own_ratios in ratios(shown, seeds, cost).items():
            drawn = trace(page, line, title, section="profile")
            for factor, share in zip(drawn["x"], drawn["y"], strict=True):
                assert share == np.mean(own_ratios <= factor * (1 + 1e-6))
            solved = np.unique(own_ratios[np.isfinite(own_ratios)])
            assert all(np.isclose(drawn["x"], ratio).any() for ratio in solved)


def test_step_sensitivity(open_page, made):
    dataset, path = made
    page = open_page(path)
    finals = final_values(gap(dataset, "objective"))
    drawn = trace(page, "VN", section="steps")
    assert drawn["x"] == [0.1, 0.5]
    for step, value in zip(drawn["x"], drawn["y"], strict=True):
        done = configuration(dataset, "VN", step=step).usable
        assert value == pytest.approx(max(np.median(finals[done]), 1e-12), rel=1e-6)
    crosses = traces(page, section="steps", kind="unusable")
    assert {(drawn["name"], *drawn["x"]) for drawn in crosses} == {("SR-VN", 0.1), ("mine", 7.0)}
    page.select_option("#metric", "test_nll:value")
    finals = final_values(dataset["test_nll"])
    done = configuration(dataset, "VN", step=0.1).usable
    assert trace(page, "VN", section="steps")["y"][0] == pytest.approx(np.median(finals[done]))
