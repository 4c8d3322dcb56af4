"""Test that the built documentation is complete, has valid links and works offline."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from gvibench.cli.main import build_parser
from gvibench.registry import DATASETS, EXPECTATIONS, FIGURES, MODELS, SOLVERS, STEP_RULES, TABLES
from reader import anchors
from site_build import ROOT, build_pages, build_site

pytestmark = pytest.mark.slow
PAGES = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))
STYLE = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')]*)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build_site(tmp_path_factory.mktemp("site"))


class Page(HTMLParser):
    """Resources, links, anchors, formulas and headings of a page."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.anchors, self.formulas = [], [], set(), []
        self.headings, self.in_heading = [], False
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append("")
            self.in_heading = True
        self.anchors.add(attributes.get("id"))
        sources = ("src", "data", "poster", "srcset")
        self.loads += [attributes[key] for key in sources if key in attributes]
        if "href" in attributes:
            (self.links if tag == "a" else self.loads).append(attributes["href"])
        if tag == "math":
            self.formulas.append(attributes["display"])
        self.loads += STYLE.findall(attributes.get("style") or "")

    def handle_endtag(self, tag):
        if re.fullmatch(r"h[1-6]", tag):
            self.in_heading = False

    def handle_data(self, data):
        if self.in_heading:
            self.headings[-1] += data
        if self.lasttag == "style":
            self.loads += STYLE.findall(data)


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def in_site(site, page):
    """Return the file of the site for a page of the documentation."""
    built = page.with_name("index.md" if page.name == "README.md" else page.name)
    return site / built.with_suffix(".html")


def test_pages_are_built_and_listed(site, pages):
    index = {urlsplit(link).path for link in pages[site / "index.html"].links}
    for page in PAGES:
        built = in_site(site, page)
        assert built in pages
        if len(page.parts) == 1 or page.match("paper/README.md"):
            assert built.relative_to(site).as_posix() in index


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_anchors_are_those_of_github(site, pages, page):
    assert anchors(ROOT / "docs" / page) <= pages[in_site(site, page)].anchors


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
        assert 'class="math notranslate' not in path.read_text()  # a formula left as it is


@pytest.mark.parametrize(
    ("name", "registries"),
    [
        ("solvers", [SOLVERS]),
        ("step-rules", [STEP_RULES]),
        ("models", [MODELS, EXPECTATIONS]),
        ("figures-and-tables", [FIGURES, TABLES]),
    ],
)
def test_generated_pages_describe_everything(site, pages, name, registries):
    headings = {text.removesuffix("¶") for text in pages[site / f"{name}.html"].headings}
    for registry in registries:
        assert set(registry.built_in) <= headings


def test_generated_pages_list_data_sets_and_commands(site, pages):
    text = (site / "datasets.html").read_text()
    for name in DATASETS.built_in:
        assert f'<span class="pre">{name}</span>' in text
    [commands] = [action for action in build_parser()._actions if action.dest == "==SUPPRESS=="][:1]
    headings = {text.removesuffix("¶") for text in pages[site / "commands.html"].headings}
    assert {f"gvibench {name}" for name in commands.choices} <= headings
    assert {"gvibench.run", "gvibench.plugin.Solver"} <= pages[site / "python-api.html"].anchors


def test_no_marker_remains(pages):
    for path in pages:
        assert "<!-- generated" not in path.read_text()


@pytest.mark.parametrize("link", ["nowhere.md", "nowhere.yaml", "#nowhere", "other.md#nowhere"])
def test_a_broken_link_is_an_error(tmp_path, link):
    source = tmp_path / "pages"
    source.mkdir()
    (source / "other.md").write_text("---\norphan: true\n---\n\n# Other\n\n## A heading: d > n\n")
    index = source / "index.md"
    index.write_text("# Index\n\n[link](other.md#a-heading-d--n)\n")
    done = build_pages(source, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    index.write_text(f"# Index\n\n[link]({link})\n")
    done = build_pages(source, tmp_path / "site")
    assert done.returncode != 0
    assert "nowhere" in done.stderr
