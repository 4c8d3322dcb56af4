"""Test the documentation site from local files. `open_page` checks that it makes no requests."""

import pytest

from site_build import build_site

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", ["index", "tutorial", "mathematics", "commands", "paper/index"])
def test_a_page_shows_its_images_and_formulas(open_page, site, name, width):
    viewport = {"width": width, "height": 900}
    page = open_page(site / f"{name}.html", ready="article h1", viewport=viewport)
    assert page.is_visible("h1")
    for picture in page.query_selector_all("article img"):
        assert picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
    for formula in page.query_selector_all("math"):
        assert formula.bounding_box()["width"] > 0
    # Wide tables scroll by themselves, not with the page.
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("word", "title"), [("tril", "The mathematics as implemented"), ("Stein", "Solvers")]
)
def test_the_search_finds_a_page(open_page, site, word, title):
    page = open_page(site / "index.html", ready="article h1")
    page.locator("input[name=q]").first.fill(word)
    page.locator("input[name=q]").first.press("Enter")
    page.wait_for_selector(f"#search-results a >> text={title}")
