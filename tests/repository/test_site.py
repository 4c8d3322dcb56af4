"""Test that the built documentation is complete, has valid links and works offline."""

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
    """Resources, links, anchors and formulas of a page."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.anchors, self.formulas = [], [], set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.add(attributes.get("id"))
        sources = ("src", "data", "poster", "srcset")
        self.loads += [attributes[key] for key in sources if key in attributes]
        if "href" in attributes:
            (self.links if tag == "a" else self.loads).append(attributes["href"])
        if tag == "math":
            self.formulas.append(attributes["display"])
        self.loads += STYLE.findall(attributes.get("style") or "")

    def handle_data(self, data):
        if self.lasttag == "style":
            self.loads += STYLE.findall(data)


@pytest.fixture(scope="module")
def pages(site):
    # 404.html is excluded because its addresses are relative to the root of a server.
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_pages_are_built_and_listed(site, pages):
    index = {urlsplit(link).path for link in pages[site / "index.html"].links}
    for page in PAGES:
        built = page.with_name("index.md" if page.name == "README.md" else page.name)
        built = built.with_suffix(".html")
        assert site / built in pages
        if len(page.parts) == 1 or page.match("paper/README.md"):
            assert built.as_posix() in index


def test_pages_load_nothing_from_other_servers(site, pages):
    for path, page in pages.items():
        for address in page.loads:
            assert not re.match(r"(\w+:)?//", address), f"{path}: {address}"
    for path in site.rglob("*.css"):
        for address in STYLE.findall(path.read_text()):
            assert not re.match(r"(\w+:)?//", address), f"{path}: {address}"


def test_link_targets_exist(pages):
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
