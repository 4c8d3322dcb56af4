"""Test the first screen, legends, numbers and navigation of a report page at several widths."""

import json

import pytest

from browser.made_study import JOB
from browser.widths import WIDTHS, draw_all
from figures.made_aggregate import Run, study, write_aggregate
from gvibench.analysis.ranking import ZERO
from gvibench.report.conclusion import conclusion
from gvibench.report.page import write_comparison, write_page
from gvibench.tables.performance import REACHED_COUNT

pytestmark = pytest.mark.browser
at_each_width = pytest.mark.parametrize("width", WIDTHS)


@at_each_width
def test_the_first_screen_shows_conclusion_and_ranking(open_page, made, width):
    dataset, path = made
    page = open_page(path, **WIDTHS[width])
    assert page.inner_text(".conclusion") == conclusion(dataset)
    height = WIDTHS[width]["viewport"]["height"]
    told = page.locator(".conclusion").bounding_box()
    row = page.locator(".ranking tbody tr").first.bounding_box()
    assert told["y"] + told["height"] < row["y"] + row["height"] < height


def test_the_ranking_names_runners_up_and_the_rule(open_page, tmp_path):
    ends = {"vn": [11.0, 12.0], "gd": [11.5, 13.0], "bw-gd": [20.0, 21.0], "fb-gvi": [30.0, 31.0]}
    runs = [
        Run([60.0, end], solver=solver, seed=seed)
        for solver, values in ends.items()
        for seed, end in enumerate(values)
    ]
    runs += [Run([60.0, end], solver="gd-chol", seed=k) for k, end in enumerate(ends["bw-gd"])]
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, runs), [], path)
    page = open_page(path)
    rows = (
        "rows => rows.map((row) => [1, 2, row.cells.length - 1].map((k) => row.cells[k].innerText))"
    )
    shown = page.eval_on_selector_all(".ranking tbody tr", rows)
    assert shown == [
        ["1", "VN", "best"],
        ["2", "GD", "within the seeds"],
        ["3", "BW-GD", "9 nat behind"],
        ["3", "GD-Chol", "9 nat behind"],
    ]
    page.click(".ranking .more")
    shown = page.eval_on_selector_all(".ranking tbody tr", rows)
    assert shown[-1] == ["5", "FB-GVI", "19 nat behind"]
    note = page.inner_text("#overview .note")
    assert ZERO in note
    assert REACHED_COUNT in note


CLIPPED = """() => {
  const isVisible = (node) => node.checkVisibility() && node.getBoundingClientRect().width > 1;
  const pen = document.createElement('canvas').getContext('2d');
  const arrow = 18;
  const selects = [...document.querySelectorAll('select')].filter(isVisible).filter((select) => {
    const style = getComputedStyle(select);
    pen.font = `${style.fontSize} ${style.fontFamily}`;
    const text = select.selectedOptions[0].textContent;
    const room = select.clientWidth - parseFloat(style.paddingLeft) - arrow;
    return pen.measureText(text).width > room;
  });
  const texts = 'td, dd, .legend li, .conclusion, nav a, button';
  const cells = [...document.querySelectorAll(texts)].filter(isVisible).filter((cell) => {
      const region = cell.closest('.scroll');
      const edge = region && getComputedStyle(region).overflowX === 'auto' && region.tabIndex === 0
        ? Infinity : document.documentElement.clientWidth;
      return cell.scrollWidth > cell.clientWidth + 1 && getComputedStyle(cell).display !== 'inline'
        || cell.getBoundingClientRect().right > edge + 1;
    });
  return [...selects, ...cells].map((node) => node.outerHTML.slice(0, 200));
}"""


@at_each_width
def test_nothing_is_clipped(open_page, made, width):
    _, path = made
    page = open_page(path, **WIDTHS[width])
    if not page.is_visible("#metric"):
        page.click("#controls summary")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CLIPPED) == []
    fits = "(region) => region.scrollWidth <= region.clientWidth"
    assert page.eval_on_selector(".ranking .scroll", fits)


@pytest.fixture(scope="session")
def comparison(tmp_path_factory):
    """The page that compares a study with one that ended otherwise."""
    folders = [tmp_path_factory.mktemp(name) for name in "ab"]
    other = study()
    # Both data sets have the same spec, so the runs of the second one are compared.
    other[12].objective = [*other[12].objective[:-1], 20.5]
    for folder, runs in zip(folders, (study(), other), strict=True):
        write_aggregate(folder, runs)
    write_comparison(*folders, folders[0] / "page.html", "c0de")
    return folders[0] / "page.html"


@at_each_width
def test_a_comparison_starts_with_its_result(open_page, comparison, width):
    page = open_page(comparison, **WIDTHS[width])
    assert page.inner_text("h1") == "Made: A and B compared"
    told = page.locator("#comparison .conclusion")
    assert "differ by at most 0.5 nat" in told.inner_text()
    box = told.bounding_box()
    assert box["y"] + box["height"] < WIDTHS[width]["viewport"]["height"]
    assert page.locator("#comparison tbody tr").count() == 10
    # The rule is the same for both studies and is printed once.
    assert page.locator("#overview-studies .note").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(CLIPPED) == []


@at_each_width
def test_wide_tables_scroll_with_the_keyboard(open_page, comparison, width):
    page = open_page(comparison, **WIDTHS[width])
    regions = page.locator(".scroll").all()
    wide = [r for r in regions if r.evaluate("(node) => node.scrollWidth > node.clientWidth + 1")]
    assert wide or width > 1000
    for region in wide:
        region.focus()
        outline = region.evaluate("(node) => getComputedStyle(node).outlineStyle")
        assert outline != "none"
        page.keyboard.press("ArrowRight")
        page.wait_for_function("(node) => node.scrollLeft > 0", arg=region.element_handle())
        assert 0 < len(region.get_attribute("aria-label")) < 120


LEGENDS = """() => [...document.querySelectorAll('.panel:not([hidden])')].map((panel) => {
  const lines = panel.querySelector('.plot').data.filter((trace) => trace.meta.kind === 'line');
  const visible = (entry) => entry.checkVisibility();
  const entries = [...panel.querySelectorAll('.legend li')].filter(visible);
  const right = (node) => node.getBoundingClientRect().right;
  const color = (entry) => entry.querySelector('path').getAttribute('stroke');
  return {
    drawn: lines.map((trace) => [trace.name, trace.line.color].join()),
    listed: entries.map((entry) => [entry.innerText.trim(), color(entry)].join()),
    inside: entries.every((entry) => right(entry) <= right(panel)),
  };
})"""


@at_each_width
def test_each_plot_has_a_legend_with_its_lines(open_page, made, width):
    _, path = made
    page = open_page(path, **WIDTHS[width])
    draw_all(page)
    panels = page.evaluate(LEGENDS)
    assert len(panels) == 6  # curves and steps of two data sets, and two profiles
    for panel in panels:
        assert panel["drawn"]
        assert set(panel["drawn"]) <= set(panel["listed"])
        assert panel["inside"]


def test_the_legend_of_steps_explains_dashes_and_crosses(open_page, tmp_path):
    runs = [
        Run([60.0, 20.0 / scale], step=step, init_scale=scale)
        for step in (0.1, 1.0)
        for scale in (0.5, 2.0)
    ]
    runs[-1].status = "diverged"
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, runs), [], path)
    page = open_page(path)
    texts = page.locator("#steps .legend li").all_inner_texts()
    assert [text.strip() for text in texts] == [
        *("VN", "C0 0.5", "C0 2", "some seeds diverged or failed")
    ]


ON_SCREEN = """(links) => links.every((link) => {
  const {x, y, width, height} = link.getBoundingClientRect();
  const at = (share) => document.elementFromPoint(x + share * width, y + height / 2);
  return at(0.02) === link && at(0.98) === link;
})"""


@at_each_width
def test_navigation_reaches_each_section(open_page, made, width):
    _, path = made
    page = open_page(path, **WIDTHS[width])
    links = page.locator("nav a:visible")
    assert links.count() == 6
    assert links.evaluate_all(ON_SCREEN)
    for link in links.all():
        link.click()
        place = link.get_attribute("data-to")
        top = page.locator(f"#{place}").bounding_box()["y"]
        header = page.locator("header").bounding_box()["height"]
        bottom = page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
        assert top >= -1 or place == "overview"
        assert header - 60 <= top <= header + 60 or bottom
        assert page.url.partition("#")[2] == place


@pytest.mark.parametrize("place", ["sensitivity", "table-performance", "figure-gap", "provenance"])
def test_a_deep_link_opens_its_place(open_page, tmp_path, place):
    figure = tmp_path / "gap.svg"
    figure.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="900" height="600"/>')
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, study()), [figure], path)
    page = open_page(path, f"#{place}&metric=test_nll:gap", viewport={"width": 1440, "height": 700})
    assert page.input_value("#metric") == "test_nll:gap"
    assert page.evaluate("document.activeElement.id") == place
    box = page.locator(f"#{place}").bounding_box()
    assert -1 <= box["y"] < 700
    assert page.url.partition("#")[2] == f"{place}&metric=test_nll%3Agap"


def test_numbers_have_few_digits_and_a_tooltip(open_page, tmp_path):
    step, scale = 10**-0.5, 10**-1.5
    runs = [Run([60.0, 11.23456789], step=step, init_scale=scale, seed=seed) for seed in (0, 1)]
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, runs), [], path)
    page = open_page(path)

    def shown(title):
        cell = page.locator(f".ranking td[data-title='{title}']")
        return cell.inner_text(), cell.get_attribute("title")

    assert shown("step") == ("0.32", repr(step))
    assert shown("C0") == ("0.032", repr(scale))
    assert shown("final gap") == ("1.23", "1.23456789")
    long = r"""() => [...document.querySelectorAll('td:not(.code):not([data-title="data set"])')]
      .map((cell) => cell.innerText).filter((text) => /\.\d*[1-9]\d{3}/.test(text))"""
    assert page.evaluate(long) == []


def test_steps_that_differ_in_the_third_digit_stay_distinct(open_page, tmp_path):
    runs = [Run([60.0, 11.0], step=step) for step in (0.101, 0.104)]
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, runs), [], path)
    page = open_page(path)
    options = page.locator("#step option").all_inner_texts()
    assert options[-2:] == ["0.101", "0.104"]


def test_pointless_sections_are_left_out(open_page, tmp_path):
    cost = {"trials": 4, "iterations": 12, "seconds": 2.5}
    runs = [
        Run([60.0, 11.0], "wdbc", step=0.1, tuning=cost),
        Run([60.0, 11.0], "other", step=0.3, tuning=cost, data={"split_seed": 7}),
    ]
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, runs), [], path)
    page = open_page(path)
    # A tuned solver has one step on each data set, and one solver has no profile.
    for place in ("sensitivity", "profiles", "figures"):
        assert not page.is_visible(f"#{place}")
        assert not page.is_visible(f"nav [data-to={place}]")
    for control in ("step", "scale"):
        assert not page.is_visible(f"#{control}")
    assert page.is_visible("#explore")
    assert page.is_visible("#metric")


def test_profiles_without_a_solved_problem_are_left_out(open_page, tmp_path):
    runs = [Run([60.0, 20.0], solver=solver) for solver in ("vn", "gd")]
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, runs), [], path)
    page = open_page(path)
    assert not page.is_visible("#profiles")
    assert page.is_visible("#explore")


def test_a_failed_figure_shows_its_error(open_page, tmp_path):
    error = "the figure 'gap' could not be drawn: division by zero"
    (tmp_path / "gap.svg").write_text("<svg/>")
    (tmp_path / "gap.json").write_text(json.dumps({"error": error}))
    path = tmp_path / "index.html"
    figures = [tmp_path / "gap.svg", tmp_path / "gap.json"]
    write_page(JOB, write_aggregate(tmp_path, study()), figures, path)
    page = open_page(path)
    assert page.inner_text("#figures .failure") == error
    assert page.locator("#figures img").count() == 0
    assert page.inner_text("#overview .failure").strip() == f"T{error[1:]}"
