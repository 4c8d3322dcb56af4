"""Use README.md as the first page, and copy files outside docs/ that pages link to.

Pages use the same links as on GitHub. In the site, the contents of docs/ move to the top level, and
all other files keep their paths.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
# [text](target#anchor), or code, which is left unchanged
LINK = re.compile(r"```.*?```|`[^`\n]*`|\]\((?P<target>[^)#\s]+)(?P<rest>[^)\s]*)\)", re.DOTALL)


def on_files(files, config):
    """Add the first page and the files outside docs/ that pages link to."""
    files.append(File.generated(config, "index.md", abs_src_path=str(ROOT / "README.md")))
    waiting = list(files.documentation_pages())
    while waiting:
        page = waiting.pop()
        for link in LINK.finditer(page.content_string):
            uri = in_site(page.src_uri, link["target"])
            if uri and files.get_file_from_path(uri) is None and (ROOT / uri).is_file():
                file = File.generated(config, uri, abs_src_path=str(ROOT / uri))
                files.append(file)
                if file.is_documentation_page():
                    waiting.append(file)
    return files


def on_page_markdown(markdown, page, **_):
    """Rewrite links to the paths of their targets in the site."""

    def rewrite(link):
        uri = in_site(page.file.src_uri, link["target"])
        if uri is None:
            return link[0]
        return f"]({relpath(uri, PurePosixPath(page.file.src_uri).parent)}{link['rest']})"

    return LINK.sub(rewrite, markdown)


def in_site(page: str, target: str | None) -> str | None:
    """Return the path of a link's target in the site, or None for external targets and code."""
    if target is None or ":" in target:
        return None
    path = normpath((in_repository(page).parent / target).as_posix())
    if (ROOT / path).is_dir():
        path += "/README.md"
    return "index.md" if path == "README.md" else path.removeprefix("docs/")


def in_repository(uri: str) -> PurePosixPath:
    """Return the path in the repository of a file of the site."""
    if uri == "index.md":
        return PurePosixPath("README.md")
    inside = PurePosixPath("docs", uri)
    return inside if (ROOT / inside).exists() else PurePosixPath(uri)
