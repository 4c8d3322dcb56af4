"""The prose of the project avoids the phrases that its style guide replaces."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PHRASES = (
    *(
        r"\bmend(s|ed|ing)?\b",
        r"\banew\b",
        r"\bwhat there is\b",
        r"\buntried\b",
        r"\bspoil(s|t|ed)?\b",
    ),
    *(r"\bhurtful\b", r"\bbreaks on\b", r"\bevery single\b", r"\bsuch as has\b", r"\bto be had\b"),
    *(r"\b(runs?|killed) goes on\b", r"\bgo(es)? on from\b", r"\bwhoever\b", r"\bnow and then\b"),
    *(r"\bflatters?\b", r"\btakes? part in\b", r"\bcontestants\b", r"\bpatience\b", r"\bby what\b"),
    *(r"\bsay `", r"\bspeaks at all\b", r"\bat most so many\b", r"\bruns again\b", r"\bprice of\b"),
    *(r"\bslip of the pen\b", r"\bOf each\b", r"\btold in words\b", r"\bLet a run\b"),
)
"""Regular expressions of words and idioms with a plainer equivalent."""
FOLDERS = ("src", "docs", "rules", "config", "profiles", "envs", ".github", "examples")
SUFFIXES = {".py", ".md", ".smk", ".yaml", ".yml", ".js", ".html", ".css", ".toml", ".cu"}


def texts():
    """Return all texts of the project, including the generated ones of published results."""
    files = [path for name in FOLDERS for path in (ROOT / name).rglob("*")]
    files = [path for path in files if path.suffix in SUFFIXES]
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*files, *top, ROOT / "Makefile", ROOT / "Snakefile", ROOT / "Dockerfile"]


@pytest.mark.parametrize("phrase", PHRASES)
def test_plain_english(phrase):
    pattern = re.compile(phrase)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if pattern.search(line)
    ]
    assert not found, "\n".join(found)


def test_module_docstrings_say_what_the_module_does():
    for path in (ROOT / "src/gvibench").rglob("*.py"):
        first = path.read_text().partition("\n")[0]
        assert not re.match(r'"""(What|How|Where|Which|Things)\b', first), path
