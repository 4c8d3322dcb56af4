"""Build the documentation for offline reading.

    python docs/site/build.py site

writes `site/index.html`.
"""

import sys
import tempfile
from pathlib import Path

from pages import collect
from sphinx.cmd.build import build_main

CONFIG = Path(__file__).parent


def build(site: Path) -> int:
    """Build the site and return an exit code."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "pages")
        collect(source)
        return run_sphinx(source, site)


def run_sphinx(source: Path, site: Path) -> int:
    """Build a folder of pages. A warning, for example about a broken link, is an error."""
    with tempfile.TemporaryDirectory() as parsed:
        options = ["--fail-on-warning", "--quiet", "--fresh-env", "--conf-dir", str(CONFIG)]
        return build_main([*options, "--doctree-dir", parsed, str(source), str(site)])


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
