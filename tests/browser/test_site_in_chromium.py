"""Test the documentation site from local files. `open_page` checks that it makes no requests."""

import pytest

from site_build import build_site

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("name", ["index", "tutorial", "mathematics", "paper/index"])
def test_a_page_shows_its_images_and_formulas(open_page, site, name):
    page = open_page(site / f"{name}.html", ready="html.js")
    assert page.is_visible("h1")
    for picture in page.query_selector_all("article img"):
        assert picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
    for formula in page.query_selector_all("math"):
        assert formula.bounding_box()["width"] > 0


def test_the_search_finds_a_page(open_page, site):
    page = open_page(site / "index.html", ready="html.js")
    page.locator("input[name=query]").press_sequentially("tril")  # the search reacts to key events
    page.wait_for_selector(".md-search-result__link >> text=mathematics")
