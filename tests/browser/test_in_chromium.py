"""Every control of the report page, in Chromium: what is plotted is what the aggregate says."""

import csv
import io

import numpy as np
import pytest

from browser.made_study import JOB, with_passes
from figures.made_aggregate import Run, write_aggregate
from gvibench.analysis.bands import seeds_over, seeds_over_iterations
from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import final, gap, settled
from gvibench.analysis.ranking import Ranking
from gvibench.figures.profile import ratios
from gvibench.report.page import write_comparison, write_page
from gvibench.report.page.curves import STATISTICS, statistics
from gvibench.report.page.payload import AXES, METRICS
from gvibench.tables.formats import to_csv
from gvibench.tables.performance import build
from report.big_study import write_big_study

pytestmark = pytest.mark.browser

TRACES = """([section, title]) => {
  const found = [...document.querySelectorAll(`#${section} .panel`)]
    .find((panel) => panel.querySelector('h3').textContent === title);
  if (found.hidden) return null;
  const plot = found.querySelector('.plot');
  return plot.data.map((trace) => ({
    name: trace.name, kind: trace.meta.kind, step: trace.meta.step, scale: trace.meta.scale,
    color: trace.line?.color, x: Array.from(trace.x), y: Array.from(trace.y),
    xscale: plot._fullLayout.xaxis.type, yscale: plot._fullLayout.yaxis.type,
  }));
}"""


def traces(page, title="wdbc", section="curves", kind="line"):
    found = page.evaluate(TRACES, [section, title])
    return found and [trace for trace in found if trace["kind"] == kind]


def trace(page, name, title="wdbc", **wanted):
    [found] = [one for one in traces(page, title, **wanted) if one["name"] == name]
    return found


def configuration(dataset, line, panel="wdbc", **fields):
    """Return the one with the given fields, or else the best of its line."""
    every = [
        one
        for one in configurations(dataset)
        if (one.panel, one.line) == (panel, line)
        and all(getattr(one, name) == value for name, value in fields.items())
    ]
    [best] = Ranking.of(dataset).best_lines(every)
    return best


def expected(dataset, one, metric="objective", form="gap", axis="iteration"):
    """Return where the curve of a configuration is known, and its statistics over seeds."""
    values = gap(dataset, metric) if form == "gap" else dataset[metric]
    if axis == "iteration":
        at, rows = seeds_over_iterations(values, one)
    else:
        at, rows = seeds_over(dataset[axis].values, values, one)
    found = statistics(rows)
    found = np.repeat(found, 6, axis=0) if len(found) == 1 else found
    return at, dict(zip(STATISTICS, found, strict=True))


def check_line(drawn, at, values):
    """Every point that is drawn is a point of the curve, the ends among them."""
    x = np.array(drawn["x"])
    # Bands over time begin with two values at one time: the last of equals, then.
    kept = np.searchsorted(at.astype(np.float32), x.astype(np.float32), side="right") - 1
    kept[0] = 0
    assert x == pytest.approx(at[kept], rel=1e-6)
    assert {0, len(at) - 1} <= set(kept.tolist())
    assert np.array(drawn["y"]) == pytest.approx(values[kept], rel=1e-6, abs=1e-12)


def test_the_first_view_is_that_of_the_static_figure(open_page, made):
    dataset, path = made
    page = open_page(path)
    for panel in ("wdbc", "digits_50%"):
        assert [one["name"] for one in traces(page, panel)] == ["VN", "SR-VN"]
        for line in ("VN", "SR-VN"):
            at, found = expected(dataset, configuration(dataset, line, panel))
            drawn = trace(page, line, panel)
            check_line(drawn, at, np.maximum(found["median"], 1e-12))
            assert (drawn["xscale"], drawn["yscale"]) == ("log", "log")
    assert trace(page, "VN")["color"] == "rgb(0,114,178)"
    assert page.inner_text("#curves .unusable >> nth=0") == "diverged: SR-VN 1/3, mine 3/3"


@pytest.mark.parametrize("form", ["gap", "value"])
@pytest.mark.parametrize("metric", METRICS)
def test_metric(open_page, made, metric, form):
    dataset, path = made
    page = open_page(path)
    page.select_option("#metric", f"{metric}:{form}")
    at, found = expected(dataset, configuration(dataset, "VN"), metric, form)
    drawn = trace(page, "VN")
    floor = METRICS[metric]["floor"] if form == "gap" else -np.inf
    check_line(drawn, at, np.maximum(found["median"], floor))
    assert drawn["yscale"] == ("log" if form == "gap" else "linear")


@pytest.mark.parametrize("axis", AXES)
def test_horizontal_quantity(open_page, made, axis):
    dataset, path = made
    page = open_page(path)
    page.select_option("#x", axis)
    at, found = expected(dataset, configuration(dataset, "SR-VN"), axis=axis)
    check_line(trace(page, "SR-VN"), at, found["median"])


def test_what_is_not_recorded_cannot_be_chosen(open_page, tmp_path):
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, [Run([15.0, 11.0])]), [], path)
    page = open_page(path)
    assert page.get_attribute("#x option[value=data_passes]", "disabled") is not None


def test_scales_of_the_axes(open_page, made):
    dataset, path = made
    page = open_page(path)
    page.select_option("#xscale", "linear")
    page.select_option("#yscale", "linear")
    drawn = trace(page, "VN")
    assert (drawn["xscale"], drawn["yscale"]) == ("linear", "linear")
    at, found = expected(dataset, configuration(dataset, "VN"))
    check_line(drawn, at, found["median"])  # zero is zero


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
    at, found = expected(dataset, configuration(dataset, "SR-VN"))
    check_line(trace(page, "SR-VN"), at, found[line])
    bands = traces(page, kind="band")
    if low is None:
        assert bands == []
        return
    drawn = trace(page, "SR-VN", kind="band")
    half = len(drawn["x"]) // 2
    upper = {"x": drawn["x"][:half], "y": drawn["y"][:half]}
    lower = {"x": drawn["x"][half:][::-1], "y": drawn["y"][half:][::-1]}
    check_line(upper, at, found[high])
    check_line(lower, at, found[low])


def test_band_of_a_metric_that_falls(open_page, made):
    """Values of the accuracy are drawn from gaps, which run the other way."""
    dataset, path = made
    page = open_page(path, "#metric=test_accuracy:value&xscale=linear")
    at, found = expected(dataset, configuration(dataset, "SR-VN"), "test_accuracy", "value")
    drawn = trace(page, "SR-VN", kind="band")
    half = len(drawn["x"]) // 2
    check_line({"x": drawn["x"][:half], "y": drawn["y"][:half]}, at, found["max"])


def test_step(open_page, made):
    dataset, path = made
    page = open_page(path)
    page.select_option("#step", "0.1")
    at, found = expected(dataset, configuration(dataset, "VN", step=0.1))
    check_line(trace(page, "VN"), at, found["median"])
    page.select_option("#step", "all")
    assert sorted(one["step"] for one in traces(page) if one["name"] == "VN") == [0.1, 0.5]
    page.select_option("#step", "0.5")
    assert [one["name"] for one in traces(page)] == ["VN"]


def test_initial_scale(open_page, made):
    _, path = made
    page = open_page(path)
    page.select_option("#scale", "0.1")
    assert [(one["name"], one["scale"]) for one in traces(page)] == [("SR-VN", 0.1)]
    page.select_option("#scale", "all")
    assert [one["scale"] for one in traces(page)] == [1.0, 0.1]


def test_solvers(open_page, made):
    _, path = made
    page = open_page(path)
    page.uncheck("input[name=lines][value=VN]")
    assert [one["name"] for one in traces(page)] == ["SR-VN"]
    page.click("#solvers >> text=None")
    assert traces(page) == []
    page.click("#solvers >> text=All")
    assert len(traces(page)) == 2
    page.hover("#solvers label:has-text('SR-VN')")
    page.click("[aria-label='Only VN']")
    assert [one["name"] for one in traces(page)] == ["VN"]


def test_data_sets(open_page, made):
    _, path = made
    page = open_page(path)
    page.uncheck("input[name=panels][value=wdbc]")
    assert traces(page, "wdbc") is None
    assert len(traces(page, "digits_50%")) == 2


POINT = """([name, k]) => {
  const plot = document.querySelector('#curves .plot');
  const {xaxis, yaxis} = plot._fullLayout;
  const {x, y} = plot.data.find((trace) => trace.name === name && trace.meta.kind === 'line');
  const box = plot.getBoundingClientRect();
  return [box.x + xaxis._offset + xaxis.d2p(x[k]), box.y + yaxis._offset + yaxis.d2p(y[k])];
}"""


def point_at(page, name, k):
    """Move the mouse to a point of a line; return what the page says about it."""
    page.mouse.move(0, 0)
    page.wait_for_selector(".hoverlayer .hovertext", state="detached")
    page.mouse.move(*page.evaluate(POINT, [name, k]))
    page.wait_for_selector(".hoverlayer .hovertext")
    return page.text_content(".hoverlayer")


def click(page):
    page.mouse.down()
    page.mouse.up()


def wait_for_lines(page, count):
    """Wait until so many lines are drawn in the first plot."""
    page.wait_for_function(
        "(count) => document.querySelector('#curves .plot').data"
        ".filter((trace) => trace.meta.kind === 'line').length === count",
        arg=count,
    )


def test_hover_and_click_on_a_line(open_page, made):
    dataset, path = made
    page = open_page(path)
    text = point_at(page, "SR-VN", 3)
    _, found = expected(dataset, configuration(dataset, "SR-VN"))
    assert "SR-VN" in text
    assert f"median: {found['median'][3]:.4g}" in text
    assert f"min to max: {found['min'][3]:.4g} … {found['max'][3]:.4g}" in text
    assert "step 0.1, C0 0.1" in text
    assert "3 seeds, 1 diverged" in text
    click(page)
    wait_for_lines(page, 1)
    assert [one["name"] for one in traces(page)] == ["SR-VN"]
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
        for line, found in ratios(shown, seeds, cost).items():
            drawn = trace(page, line, title, section="profile")
            for factor, share in zip(drawn["x"], drawn["y"], strict=True):
                assert share == np.mean(found <= factor * (1 + 1e-6))
            solved = np.unique(found[np.isfinite(found)])
            assert all(np.isclose(drawn["x"], ratio).any() for ratio in solved)


def test_step_sensitivity(open_page, made):
    dataset, path = made
    page = open_page(path)
    finals = final(gap(dataset, "objective").values)
    drawn = trace(page, "VN", section="steps")
    assert drawn["x"] == [0.1, 0.5]
    for step, value in zip(drawn["x"], drawn["y"], strict=True):
        done = configuration(dataset, "VN", step=step).usable
        assert value == pytest.approx(max(np.median(finals[done]), 1e-12), rel=1e-6)
    crosses = traces(page, section="steps", kind="unusable")
    assert {(one["name"], *one["x"]) for one in crosses} == {("SR-VN", 0.1), ("mine", 7.0)}
    page.select_option("#metric", "test_nll:value")
    finals = final(dataset["test_nll"].values)
    done = configuration(dataset, "VN", step=0.1).usable
    assert trace(page, "VN", section="steps")["y"][0] == pytest.approx(np.median(finals[done]))


def column(page, table, number):
    return page.eval_on_selector_all(
        f"{table} tbody tr", f"rows => rows.map((row) => row.cells[{number}].textContent)"
    )


def test_tables_sort(open_page, made):
    _, path = made
    page = open_page(path)
    table = "#tables .table:has(th:has-text('behind the best'))"
    before = column(page, table, 2)
    assert before == ["0.5", "0.1", "0.1", "7"] * 2
    head = page.locator(f"{table} th:has-text('step')")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, table, 2) == ["0.1"] * 4 + ["0.5"] * 2 + ["7"] * 2
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, table, 2) == ["7"] * 2 + ["0.5"] * 2 + ["0.1"] * 4
    # Words come after the numbers, whose ranges and brackets do not matter.
    gaps = page.locator(f"{table} th:has-text('objective gap') button")
    gaps.click()
    found = [text.partition(" ")[0] for text in column(page, table, 5)]
    assert found[-2:] == ["diverged"] * 2
    assert [float(text) for text in found[:-2]] == sorted(float(text) for text in found[:-2])


def test_tables_are_copied_in_the_order_that_is_shown(open_page, made):
    dataset, path = made
    page = open_page(path)
    table = page.locator("#tables .table:has(th:has-text('behind the best'))")
    table.locator("text=Copy CSV").click()
    page.wait_for_selector("text=CSV copied")
    read = "navigator.clipboard.readText()"
    assert page.evaluate(read) == to_csv(build(dataset))
    table.locator("th:has-text('step') button").click()
    table.locator("text=Copy CSV").click()
    copied = list(csv.DictReader(io.StringIO(page.evaluate(read))))
    assert [row["step"] for row in copied] == ["0.1"] * 4 + ["0.5"] * 2 + ["7.0"] * 2
    table.locator("text=Copy LaTeX").click()
    page.wait_for_selector("text=LaTeX copied")
    lines = page.evaluate(read).splitlines()
    assert lines[1] == r"\begin{tabular}{llrrlrr}"
    assert lines[6].startswith("wdbc & SR-VN & 0.1 & 0.1 & ")
    assert any(line.startswith(r"digits\_50\% & ") for line in lines)


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
    page.click("nav >> text=Tables")  # does not lose it
    page.click("#copy-link")
    link = page.evaluate("navigator.clipboard.readText()")
    state = "[...document.querySelectorAll('select, input')].map((one) => one.checked ?? one.value)"
    again = open_page(path, "#" + link.partition("#")[2])
    assert again.evaluate(state) == page.evaluate(state)
    assert again.get_attribute("html", "data-theme") == "dark"
    assert traces(again) == traces(page)
    again.click("#reset")
    assert again.input_value("#metric") == "objective:gap"
    assert len(traces(again, "digits_50%")) == 2


def test_a_link_with_nonsense_shows_the_first_view(open_page, made):
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


def test_specs_are_behind_every_run(open_page, made):
    dataset, path = made
    page = open_page(path)
    assert column(page, "#provenance", 12) == dataset["spec_hash"].values.tolist()
    page.click("#provenance tbody tr >> nth=0 >> text=spec")
    assert '"solver": "vn"' in page.inner_text("dialog pre")
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog")


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
    page.keyboard.press("Enter")  # skips to the plots
    assert page.evaluate("document.activeElement.id") == "explore"
    page.focus("#metric")
    page.keyboard.press("ArrowDown")
    assert page.input_value("#metric") == "neg_elbo:gap"
    page.focus("input[name=lines][value=VN]")
    page.keyboard.press("Space")
    assert [one["name"] for one in traces(page)] == ["SR-VN"]
    unnamed = """[...document.querySelectorAll('button, select, input')].filter((one) =>
      !(one.labels?.length || one.textContent.trim() || one.ariaLabel)).length"""
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


def test_hostile_names_are_shown_as_they_are(open_page, tmp_path):
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
    assert traces(page) == []
    assert [one["x"] for one in traces(page, section="steps", kind="unusable")] == [[0.1]]
    assert column(page, "#overview .table", 2) == ["1 diverged"]


def test_comparison(open_page, tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    runs = with_passes()
    write_aggregate(tmp_path / "a", runs, title="before")
    for run in runs:
        run.objective = [value + 0.5 for value in run.objective]
    write_aggregate(tmp_path / "b", runs, title="after")
    out = tmp_path / "page.html"
    write_comparison(tmp_path / "a", tmp_path / "b", out)
    page = open_page(out)
    names = [one["name"] for one in traces(page)]
    assert names == ["A: VN", "A: SR-VN", "B: VN", "B: SR-VN"]
    assert set(column(page, "#comparison", 8)) == {"0.5"}
    before, after = (trace(page, name)["y"][-1] for name in ("A: SR-VN", "B: SR-VN"))
    assert after - before == pytest.approx(0.5)


def test_a_large_study_opens_fast(chromium, tmp_path):
    """In processor time, which other work on the machine does not lengthen much."""
    path = tmp_path / "index.html"
    write_page(JOB, write_big_study(tmp_path), [], path)
    page = chromium.new_page(viewport={"width": 1400, "height": 1000})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    page.wait_for_function("performance.getEntriesByName('first-plot').length")
    found = session.send("Performance.getMetrics")["metrics"]
    [seconds] = [one["value"] for one in found if one["name"] == "TaskDuration"]
    page.close()
    assert 0.1 < seconds < 2
