"""Test the tables of a report page."""

import csv
import io

import pytest

from browser.page_plots import column
from gvibench.tables.formats import to_csv
from gvibench.tables.performance import build

pytestmark = pytest.mark.browser


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
    # Words come after numbers. Ranges and brackets are ignored.
    gaps = page.locator(f"{table} th:has-text('objective gap') button")
    gaps.click()
    cells = [text.partition(" ")[0] for text in column(page, table, 5)]
    assert cells[-2:] == ["diverged"] * 2
    numbers = [float(text) for text in cells[:-2]]
    assert numbers == sorted(numbers)


def test_tables_are_copied_in_the_order_shown(open_page, made):
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


def test_the_spec_of_each_run_can_be_shown(open_page, made):
    dataset, path = made
    page = open_page(path)
    assert column(page, "#provenance", 12) == dataset["spec_hash"].values.tolist()
    page.click("#provenance tbody tr >> nth=0 >> text=spec")
    assert '"solver": "vn"' in page.inner_text("dialog pre")
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog")
