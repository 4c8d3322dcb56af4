"""Print the section of CHANGELOG.md for a tag: `python .github/release_notes.py v0.2.0`."""

import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def release_notes(tag: str, version: str, changelog: str) -> str:
    """Return the notes of the release `tag`. Exit if the project is not ready for it."""
    if tag != f"v{version}":
        sys.exit(f"The tag {tag} does not agree with version {version} in gvibench/__init__.py.")
    sections = re.split(r"^## (.+)\n", changelog, flags=re.MULTILINE)[1:]
    for heading, text in zip(sections[::2], sections[1::2], strict=True):
        # A heading is the version, or the version and its date.
        if heading.split()[0].strip("[]") == version and text.strip():
            return text.strip()
    sys.exit(f"CHANGELOG.md has no notes for {version}: add them below the heading '## {version}'.")


if __name__ == "__main__":
    package = runpy.run_path(str(ROOT / "src/gvibench/__init__.py"))
    print(release_notes(sys.argv[1], package["__version__"], (ROOT / "CHANGELOG.md").read_text()))
