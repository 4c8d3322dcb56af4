"""README.md becomes the first page, and files outside docs/ that a page links to come along.

Pages link to each other and to the repository as they do on GitHub. In the site, what is in docs/
moves up to the top, and everything else stays where it is.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
# [text](target#anchor), but not what stands in code
LINK = re.compile(r"```.*?```|`[^`\n]*`|\]\((?P<target>[^)#\s]+)(?P<rest>[^)\s]*)\)", re.DOTALL)


def on_files(files, config):
    """Add the first page, and whatever pages link to outside docs/."""
    files.append(File.generated(config, "index.md", abs_src_path=str(ROOT / "README.md")))
    waiting = list(files.documentation_pages())
    while waiting:
        page = waiting.pop()
        for found in LINK.finditer(page.content_string):
            uri = in_site(page.src_uri, found["target"])
            if uri and files.get_file_from_path(uri) is None and (ROOT / uri).is_file():
                file = File.generated(config, uri, abs_src_path=str(ROOT / uri))
                files.append(file)
                if file.is_documentation_page():
                    waiting.append(file)
    return files


def on_page_markdown(markdown, page, **_):
    """Let links lead to where their targets are in the site."""

    def moved(found):
        uri = in_site(page.file.src_uri, found["target"])
        if uri is None:
            return found[0]
        return f"]({relpath(uri, PurePosixPath(page.file.src_uri).parent)}{found['rest']})"

    return LINK.sub(moved, markdown)


def in_site(page: str, target: str | None) -> str | None:
    """Say where in the site the target of a link is; None if it is elsewhere or no link at all."""
    if target is None or ":" in target:
        return None
    path = normpath((in_repository(page).parent / target).as_posix())
    if (ROOT / path).is_dir():
        path += "/README.md"
    return "index.md" if path == "README.md" else path.removeprefix("docs/")


def in_repository(uri: str) -> PurePosixPath:
    """Say where the file is that has this place in the site."""
    if uri == "index.md":
        return PurePosixPath("README.md")
    inside = PurePosixPath("docs", uri)
    return inside if (ROOT / inside).exists() else PurePosixPath(uri)
