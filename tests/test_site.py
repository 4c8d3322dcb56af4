"""The documentation as a site: every page and link is there, and a reader needs no network."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from site_build import ROOT, build_site

PAGES = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))
STYLE = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')]*)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build_site(tmp_path_factory.mktemp("site"))


class Page(HTMLParser):
    """What a page loads, what it links to, and what it can be entered at."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.anchors, self.formulas = [], [], set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.add(given.get("id"))
        self.loads += [given[key] for key in ("src", "data", "poster", "srcset") if key in given]
        if "href" in given:
            (self.links if tag == "a" else self.loads).append(given["href"])
        if tag == "math":
            self.formulas.append(given["display"])
        self.loads += STYLE.findall(given.get("style") or "")

    def handle_data(self, data):
        if self.lasttag == "style":
            self.loads += STYLE.findall(data)


@pytest.fixture(scope="module")
def pages(site):
    # 404.html alone has addresses that begin at a server's root.
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_page_of_the_docs_is_there_and_in_the_contents(site, pages):
    index = {urlsplit(link).path for link in pages[site / "index.html"].links}
    for page in PAGES:
        made = page.with_name("index.md" if page.name == "README.md" else page.name)
        made = made.with_suffix(".html")
        assert site / made in pages
        if len(page.parts) == 1 or page.match("paper/README.md"):
            assert made.as_posix() in index


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        for address in page.loads:
            assert not re.match(r"(\w+:)?//", address), f"{path}: {address}"
    for path in site.rglob("*.css"):
        for address in STYLE.findall(path.read_text()):
            assert not re.match(r"(\w+:)?//", address), f"{path}: {address}"


def test_links_lead_to_what_is_there(pages):
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme == "https"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path}: {link}"


def test_formulas_are_mathml(site, pages):
    mathematics = pages[site / "mathematics.html"]
    source = (ROOT / "docs/mathematics.md").read_text()
    assert mathematics.formulas.count("block") == source.count("$$") / 2
    assert mathematics.formulas.count("inline") == source.replace("$$", "").count("$") / 2
    for path in pages:
        assert "arithmatex" not in path.read_text()
