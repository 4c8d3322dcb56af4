"""Collect the pages of the site in one folder, from which Sphinx builds them.

Pages use the same links as on GitHub. In the site, README.md is the first page, the contents of
docs/ move to the top level, and a README.md is the index of its folder. Files outside docs/ that
pages link to keep their paths. Lists that are generated from the code replace their markers.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from reference import GENERATED

ROOT = Path(__file__).parents[2]
# [text](target#anchor), or code, which is left unchanged
LINK = re.compile(r"```.*?```|`[^`\n]*`|\]\((?P<target>[^)#\s]+)(?P<rest>[^)\s]*)\)", re.DOTALL)
MARKER = re.compile(r"^<!-- generated: (\w+) -->.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)
"""Text between these comments is for readers on GitHub."""

NAVIGATION = {
    "Tutorial": ["tutorial"],
    "How-to guides": [
        "fit",
        "own-data",
        "run-the-paper",
        "figures",
        "posterior-quality",
        "read-a-trace",
        "api",
        "extend",
        "cluster",
        "gpu",
        "faq",
        "contribute",
    ],
    "Benchmark": [
        "benchmark/results",
        "benchmark/protocol",
        "benchmark/problems",
        "benchmark/enter",
        "benchmark/trace-format",
        "benchmark/adapters",
    ],
    "Reference": [
        "configure",
        "commands",
        "python-api",
        "solvers",
        "step-rules",
        "models",
        "datasets",
        "figures-and-tables",
        "Files of a study <results/index>",
        "Results of the paper <paper/index>",
        "The printed numbers of the paper <printed-numbers>",
    ],
    "Explanation": [
        "design",
        "way-of-a-number",
        "mathematics",
        "theory",
        "solvers-compared",
        "what-tuning-buys",
        "geometry-or-estimator",
        "reliability",
        "performance",
        "comparison",
        "dependencies",
    ],
}
"""Pages by section of the navigation. All other pages are reached through links."""


def collect(folder: Path) -> None:
    """Write the pages and the files that they link to into a folder."""
    docs = ROOT / "docs"
    folders = [page for name in ("paper", "benchmark") for page in docs.glob(f"{name}/**/*.md")]
    waiting = [ROOT / "README.md", *docs.glob("*.md"), *folders]
    seen = set(waiting)
    while waiting:
        source = waiting.pop()
        target = folder / in_site(source.relative_to(ROOT))
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix != ".md":
            target.write_bytes(source.read_bytes())
            continue
        text = source.read_text()
        target.write_text(page(text, source.relative_to(ROOT)))
        linked = {found for link in LINK.finditer(text) if (found := linked_file(source, link))}
        waiting += linked - seen
        seen |= linked


def page(text: str, source: PurePosixPath) -> str:
    """Return the text of a page of the site."""

    def rewrite(link: re.Match[str]) -> str:
        file = linked_file(ROOT / source, link)
        if file is None:
            return link[0]
        target = relpath(in_site(file.relative_to(ROOT)), here.parent)
        return f"]({target}{link['rest']})"

    here = PurePosixPath(in_site(source))
    text = MARKER.sub(lambda marker: GENERATED[marker[1]](), LINK.sub(rewrite, text))
    if here.name == "index.md" and here.parent == PurePosixPath():
        return text + "\n".join(toctree(title, pages) for title, pages in NAVIGATION.items())
    listed = {re.sub(r".*<|>", "", name) for pages in NAVIGATION.values() for name in pages}
    return text if str(here.with_suffix("")) in listed else f"---\norphan: true\n---\n\n{text}"


def toctree(title: str, pages: list[str]) -> str:
    """Return the Markdown of one section of the navigation."""
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""])


def linked_file(page: Path, link: re.Match[str]) -> Path | None:
    """Return the file that a link leads to, or None for other links and for code."""
    target = link["target"]
    if target is None or ":" in target:
        return None
    path = Path(normpath(page.parent / target))
    path = path / "README.md" if path.is_dir() else path
    return path if path.is_file() else None


def in_site(path: PurePosixPath | Path) -> str:
    """Return the path in the site of a file of the repository."""
    if path.name == "README.md":
        path = path.with_name("index.md")
    return path.as_posix().removeprefix("docs/")
