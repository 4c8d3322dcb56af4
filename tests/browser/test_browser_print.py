"""Print report pages to PDF, and count what is drawn on each page."""

import io
from collections import Counter

import pytest

from browser.made_study import JOB
from browser.widths import WIDTHS
from figures.made_aggregate import Run, write_aggregate
from gvibench.report.page import write_page

pytestmark = pytest.mark.browser

LINES_PER_PLOT = 20
"""A plot has at least this many segments: its axes, grid and curves."""


def printed(page):
    """Return the number of line segments and the words of each printed page."""
    pypdf = pytest.importorskip("pypdf")
    reader = pypdf.PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True)))
    sheets = []
    for sheet in reader.pages:
        drawn = pypdf.generic.ContentStream(sheet.get_contents(), reader).operations
        segments = Counter(operator for _, operator in drawn)
        sheets.append((segments[b"l"] + segments[b"c"], sheet.extract_text()))
    return sheets


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_printed_pages_have_all_plots_with_legends(open_page, made, width, scheme):
    """Before printing, most plots are outside the screen and therefore not drawn."""
    _, path = made
    page = open_page(path, color_scheme=scheme, **WIDTHS[width])
    sheets = printed(page)
    plots = 0
    for segments, text in sheets:
        axes = sum(text.count(title) for title in ("objective gap [nat]", "problems solved"))
        # Each legend lists both solvers that have usable runs.
        legends = sum(line.count("SR-VN") for line in text.splitlines() if line.startswith("VN "))
        plots += min(segments // LINES_PER_PLOT, axes)
        assert legends >= axes or not axes
    assert plots == 6
    # The page on the screen is as before.
    assert page.get_attribute("html", "data-theme") == scheme
    for plot in page.query_selector_all(".plot"):
        plot.scroll_into_view_if_needed()
        page.wait_for_function(
            "(plot) => Math.abs(plot._fullLayout?.width - plot.clientWidth) < 2", arg=plot
        )


def test_printed_tables_are_whole(open_page, tmp_path):
    """The page shows 60 rows of a table at first, and the ranking shows three solvers."""
    runs = [Run([60.0, 11.0 + seed], solver="vn", seed=seed) for seed in range(70)]
    runs += [Run([60.0, 20.0 + k], solver="gd", step=k) for k in range(1, 4)]
    path = tmp_path / "index.html"
    write_page(JOB, write_aggregate(tmp_path, runs), [], path)
    page = open_page(path, **WIDTHS[390])
    rows = "document.querySelectorAll('#provenance tbody tr').length"
    assert page.evaluate(rows) == 60
    sheets = printed(page)
    words = "".join("".join(text.split()) for _, text in sheets)
    for run in runs:
        assert run.run_spec().spec_hash in words
    with_runs = [text for _, text in sheets if text.count("feedface") > 5]
    assert len(with_runs) > 1
    assert all("code hash" in " ".join(text.split()) for text in with_runs)  # heads are repeated
    assert page.evaluate(rows) == 60


WIDER = """() => [...document.querySelectorAll('table, .panel, pre, p, img')]
  .filter((node) => node.checkVisibility())
  .filter((node) => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map((node) => node.textContent.slice(0, 80))"""


@pytest.mark.parametrize("paper", [980, 1047])
def test_nothing_is_wider_than_the_paper(open_page, tmp_path, paper):
    """Letter and A4 paper have these widths in landscape, in pixels and without margins."""
    runs = [
        Run(
            [60.0, 20.0 + 1 / (3 + seed), 11.0, 10.0 + 1e-5 / (3 + seed)],
            f"a-data-set-with-a-long-name-{k}",
            solver,
            seed=seed,
            step=10**-2.5,
            data={"split_seed": k},
        )
        for k in range(3)
        for solver in ("vn", "sr-vn-rotated")
        for seed in range(3)
    ]
    path = tmp_path / "index.html"
    job = JOB | {"tables": ["runs", "winners", *JOB["tables"]]}
    write_page(job, write_aggregate(tmp_path, runs), [], path)
    page = open_page(path, viewport={"width": paper, "height": 700})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(WIDER) == []
