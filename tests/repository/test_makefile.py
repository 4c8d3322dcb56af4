"""Test what `make study` prints, with scripts in the place of Python and gvibench."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path):
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    write_command(tmp_path, "gvibench", 'echo "gvibench $*"; exit 0')
    return tmp_path


def write_command(folder, name, script):
    path = folder / ".venv/bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def make_study(folder):
    # Variables of a `make` that runs these tests would change the output.
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    return subprocess.run(
        ["make", "study"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_installation_is_one_line(folder):
    write_command(folder, "python", 'echo "$*" > words; exit 0')
    done = make_study(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "installing gvibench into .venv\ngvibench study\n"
    words = (folder / "words").read_text().split()
    assert words[:3] == ["-m", "pip", "install"]
    assert words[-2:] == ["-e", "."]
    assert words.count("--quiet") == 2  # neither progress nor warnings
    assert make_study(folder).stdout == "gvibench study\n"


def test_a_failed_installation_is_shown(folder):
    write_command(folder, "python", "echo no network >&2; exit 1")
    done = make_study(folder)
    assert done.returncode == 2
    assert "no network" in done.stderr
    assert "gvibench study" not in done.stdout
