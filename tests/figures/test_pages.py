"""Pages of tall figures."""

import re

import pytest

from figures.drawn import COLUMN, lay_out
from figures.made_aggregate import Run, make_dataset
from gvibench.figures.pages import MAX_PAGE_HEIGHT, save_pages
from gvibench.figures.theme import theme


def heights(path):
    """Return the heights of the pages of a PDF in inches."""
    boxes = re.findall(rb"/MediaBox \[ 0 0 [\d.]+ ([\d.]+) \]", path.read_bytes())
    return [float(height) / 72 for height in boxes]


@pytest.mark.parametrize(("name", "rows"), [("gap", 1), ("test", 2)])
def test_tall_figures_are_split_over_pages(tmp_path, name, rows):
    runs = [Run([15.0, 11.0], f"set-{k}") for k in range(5)]
    figure = lay_out(name, make_dataset(tmp_path, runs), COLUMN)
    before = [axes.get_position().bounds for axes in figure.axes]
    height = figure.get_figheight()
    assert height > MAX_PAGE_HEIGHT
    assert min(axes.get_window_extent().height for axes in figure.axes) > figure.dpi
    with theme(COLUMN):
        save_pages(figure, tmp_path / "pages.pdf", {"CreationDate": None})
        figure.draw_without_rendering()
    pages = heights(tmp_path / "pages.pdf")
    assert len(pages) == 1 + rows
    assert max(pages) <= MAX_PAGE_HEIGHT
    # The figure itself is unchanged.
    assert figure.get_figheight() == height
    assert all(axes.get_visible() for axes in figure.axes)
    assert [axes.get_position().bounds for axes in figure.axes] == [
        pytest.approx(bounds) for bounds in before
    ]


def test_other_figures_have_one_page(tmp_path):
    figure = lay_out("gap", make_dataset(tmp_path, [Run([15.0, 11.0])]))
    save_pages(figure, tmp_path / "page.pdf", {})
    assert heights(tmp_path / "page.pdf") == [pytest.approx(figure.get_figheight())]
