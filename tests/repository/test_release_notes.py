"""Test that release notes are taken from the changelog, and only for the current version."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".github/release_notes.py"
CHANGELOG = """# Changelog

This file lists the changes.

## Unreleased

## 1.10.0 (2026-12-01)

### Added
- A solver.

### Fixed
- A number.

## 1.1.0

- The first one.
"""


@pytest.fixture
def release_notes():
    spec = importlib.util.spec_from_file_location("release_notes", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.release_notes


def test_notes_are_the_section_of_the_version(release_notes):
    expected = "### Added\n- A solver.\n\n### Fixed\n- A number."
    assert release_notes("v1.10.0", "1.10.0", CHANGELOG) == expected
    assert release_notes("v1.1.0", "1.1.0", CHANGELOG) == "- The first one."


def test_the_tag_must_be_the_version(release_notes):
    with pytest.raises(SystemExit, match=r"tag v1\.1\.0 does not agree with version 1\.10\.0"):
        release_notes("v1.1.0", "1.10.0", CHANGELOG)
    with pytest.raises(SystemExit, match=r"tag 1\.1\.0 does not"):
        release_notes("1.1.0", "1.1.0", CHANGELOG)


@pytest.mark.parametrize("version", ["1.1", "Unreleased", "2.0.0"])
def test_the_changelog_must_have_notes(release_notes, version):
    with pytest.raises(SystemExit, match=f"no notes for {version}"):
        release_notes(f"v{version}", version, CHANGELOG)


def test_the_script_reads_the_version_of_the_package():
    done = subprocess.run(
        [sys.executable, SCRIPT, "v0.0.0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "does not agree with version" in done.stderr
    assert not done.stdout
