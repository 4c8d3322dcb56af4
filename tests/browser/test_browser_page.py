"""Test links, downloads, themes, devices and unusual studies on a report page."""

import pytest

from browser.made_study import JOB, with_passes
from browser.page_plots import column, point_at, trace, traces
from figures.made_aggregate import Run, write_aggregate
from gvibench.report.page import write_comparison, write_page
from report.big_study import write_big_study

pytestmark = pytest.mark.browser


def test_a_link_restores_the_selection(open_page, made):
    _, path = made
    page = open_page(path)
    for control, value in {
        "metric": "test_nll:gap",
        "x": "seconds",
        "yscale": "linear",
        "xscale": "linear",
        "band": "quartiles",
        "step": "0.1",
        "scale": "all",
        "level": "0.01",
    }.items():
        page.select_option(f"#{control}", value)
    page.uncheck("input[name=panels][value='digits_50%']")
    page.uncheck("input[name=lines][value=mine]")
    page.click("#theme")
    page.click("nav >> text=Tables")  # keeps the selection
    page.click("#copy-link")
    link = page.evaluate("navigator.clipboard.readText()")
    state = "[...document.querySelectorAll('select, input')].map((x) => x.checked ?? x.value)"
    again = open_page(path, "#" + link.partition("#")[2])
    assert again.evaluate(state) == page.evaluate(state)
    assert again.get_attribute("html", "data-theme") == "dark"
    assert traces(again) == traces(page)
    again.click("#reset")
    assert again.input_value("#metric") == "objective:gap"
    again.click("nav >> text=Curves")
    again.wait_for_function("() => document.querySelectorAll('#curves .main-svg').length")
    assert len(traces(again, "digits_50%")) == 2


def test_invalid_values_in_a_link_are_ignored(open_page, made):
    _, path = made
    page = open_page(path, "#metric=<b>&x=nothing&lines=nobody&step=%FF")
    assert page.input_value("#metric") == "objective:gap"
    assert traces(page) == []


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_plots_can_be_downloaded(open_page, made, kind):
    _, path = made
    page = open_page(path)
    with page.expect_download() as waiting:
        page.click(f"[aria-label='Download as {kind.upper()}: wdbc'] >> nth=0")
    assert waiting.value.suggested_filename == f"made-wdbc.{kind}"
    content = waiting.value.path().read_bytes()
    assert content.startswith(b"<svg" if kind == "svg" else b"\x89PNG")
    assert len(content) > 5000
    if kind == "svg":
        _, found, legend = content.partition(b'class="legend"')
        assert found
        assert b"SR-VN" in legend


def test_light_and_dark(open_page, made):
    _, path = made
    background = "getComputedStyle(document.body).backgroundColor"
    light = open_page(path)
    assert light.evaluate(background) == "rgb(255, 255, 255)"
    dark = open_page(path, color_scheme="dark")
    assert dark.get_attribute("html", "data-theme") == "dark"
    assert dark.evaluate(background) != light.evaluate(background)
    dark.click("#theme")
    assert dark.evaluate(background) == "rgb(255, 255, 255)"


def test_keyboard(open_page, made):
    _, path = made
    page = open_page(path)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # follows the link to the plots
    assert page.evaluate("document.activeElement.id") == "explore"
    page.focus("#metric")
    page.keyboard.press("ArrowDown")
    assert page.input_value("#metric") == "neg_elbo:gap"
    page.focus("input[name=lines][value=VN]")
    page.keyboard.press("Space")
    assert [drawn["name"] for drawn in traces(page)] == ["SR-VN"]
    unnamed = """[...document.querySelectorAll('button, select, input')].filter((field) =>
      !(field.labels?.length || field.textContent.trim() || field.ariaLabel)).length"""
    assert page.evaluate(unnamed) == 0


def test_phone(open_page, made):
    _, path = made
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = open_page(path, **phone)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert not page.is_visible("#metric")
    page.tap("#controls summary")
    page.select_option("#metric", "test_accuracy:value")
    page.locator("#curves .plot >> nth=0").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('#curves .plot').data !== undefined")
    assert len(traces(page)) == 2


HOSTILE = "</script><img src=x onerror=alert(1)><b>%{x}&lt;"


def test_names_with_html_are_shown_literally(open_page, tmp_path):
    runs = [
        Run([15.0, 12.0, 11.0], HOSTILE, HOSTILE, solver_id="gd"),
        Run([15.0], HOSTILE, "vn", status="diverged", reason=f"at iteration 1: {HOSTILE}"),
    ]
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, runs, title=HOSTILE), [], path)
    page = open_page(path)
    assert page.inner_text("h1") == page.title() == HOSTILE
    assert page.inner_text("#curves h3") == HOSTILE
    assert page.locator("img").count() == 0
    [drawn] = traces(page, HOSTILE)
    assert point_at(page, drawn["name"], 2).startswith(HOSTILE)
    again = open_page(path, "#" + page.url.partition("#")[2])
    assert len(traces(again, HOSTILE)) == 1


def test_a_study_in_which_everything_diverged(open_page, tmp_path):
    path = tmp_path / "index.html"
    runs = [Run([15.0], status="diverged", reason="at iteration 1: no")]
    write_page(JOB, write_aggregate(tmp_path, runs), [], path)
    page = open_page(path)
    assert page.inner_text(".conclusion") == "All runs diverged or failed."
    assert column(page, "#overview .table:has(th:has-text('because'))", 2) == ["1 diverged"]
    shown = page.eval_on_selector_all("nav a", "links => links.filter((a) => !a.hidden).length")
    assert shown == 3  # overview, tables and provenance
    assert not page.is_visible("#explorer")


def test_comparison(open_page, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    runs = with_passes()
    write_aggregate(tmp_path / "a", runs, title="before")
    for run in runs:
        run.objective = [value + 0.5 for value in run.objective]
    write_aggregate(tmp_path / "b", runs, title="after")
    out = tmp_path / "page.html"
    write_comparison(tmp_path / "a", tmp_path / "b", out, "code")
    page = open_page(out)
    names = [drawn["name"] for drawn in traces(page)]
    assert names == ["A: VN", "A: SR-VN", "B: VN", "B: SR-VN"]
    assert set(column(page, "#comparison", 8)) == {"0.5"}
    before, after = (trace(page, name)["y"][-1] for name in ("A: SR-VN", "B: SR-VN"))
    assert after - before == pytest.approx(0.5)


def test_a_large_study_draws_visible_plots_only(open_page, tmp_path):
    """Opening a page must not take longer because of plots that are out of sight."""
    path = tmp_path / "index.html"
    write_page(JOB, write_big_study(tmp_path), [], path)
    page = open_page(path, "#explore", viewport={"width": 1400, "height": 1000})
    page.wait_for_function("() => performance.getEntriesByName('first-plot').length")
    drawn = page.eval_on_selector_all(".plot", "plots => plots.map((plot) => Boolean(plot.data))")
    assert True in drawn
    assert drawn[-1] is False
    page.locator(".panel").last.scroll_into_view_if_needed()
    page.wait_for_function("() => [...document.querySelectorAll('.plot')].at(-1).data")


def test_an_axis_that_was_not_recorded_cannot_be_selected(open_page, tmp_path):
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, [Run([15.0, 11.0])]), [], path)
    page = open_page(path)
    assert page.get_attribute("#x option[value=data_passes]", "disabled") is not None
