"""Somebody who follows a page of the documentation, block by block, in a project of their own.

The text of a page is run as it is printed, in order and in one folder. Only what needs more than a
test has (a network, a cluster, root, an hour) or would change this machine is looked at instead;
the rule of its program says how. A block that no rule covers is an error. A page may use the study
of the tutorial without showing its config again.
"""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import yaml

from gvibench.cli.main import main
from gvibench.study.config import Config, load_config
from gvibench.study.expand import expand
from workflow.project import ROOT, Project

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SMALL = {
    "datasets": {"wdbc": {}, "synthetic": {"options": {"n": 60, "d": 3}}},
    "solvers": {"vn": {"step": 0.1}, "sr-vn": {"step": 0.01}},
    "iterations": 20,
    "seeds": 1,
    "figures": [],
    "tables": ["performance"],
}
"""A study of seconds, to which a block with a part of a config is added."""

SQUEUE = """#!/bin/sh
printf '11 gvibench-run\\n12 somebody-elses\\n13 gvibench-draw\\n'
"""
SCANCEL = """#!/bin/sh
echo "$@" >> cancelled
"""


class Block(NamedTuple):
    """A fenced block."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in FENCED.findall(page.read_text())]


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text())


class Reader:
    """Has a clone, and the config of the tutorial in config/mine.yaml."""

    def __init__(self, folder: Path, *, dry: bool = False) -> None:
        self.project = Project.create(folder, SMALL)
        shutil.copytree(ROOT / "config", folder / "config", dirs_exist_ok=True)
        self.dry = dry
        """Whether studies are planned only: those of the page would take too long."""
        self.space: dict[str, object] = {}
        """What Python knows after the blocks so far."""
        [config] = [text for kind, text in blocks(ROOT / "docs/tutorial.md") if kind == "yaml"]
        self.save("config/mine.yaml", config)
        self.save("bin/squeue", SQUEUE).chmod(0o755)
        self.save("bin/scancel", SCANCEL).chmod(0o755)

    def save(self, name: str, text: str) -> Path:
        path = self.project.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def follow(self, page: Path) -> None:
        """Do what the page says; the working directory must be that of the project."""
        assert Path.cwd() == self.project.folder
        for block in blocks(page):
            LANGUAGES[block.language](self, block.text)

    # Languages

    def python(self, text: str) -> None:
        exec(compile(text, "block", "exec"), self.space)

    def yaml(self, text: str) -> None:
        """Check a config, or a part of one; the first line may say where it is to be written."""
        given = yaml.safe_load(text)
        if "studies" in given:
            name = re.match(r"# (config/\w+\.yaml)\n", text)
            assert name, "a config says where it goes"
            self.save(name[1], text)
        elif given.keys() <= Config.model_fields.keys():
            given = {"studies": {"s": SMALL}, **given}
        else:
            given = {"studies": {"s": {**SMALL, **given}}}
        assert expand(load_config(given)).runs

    def shell(self, text: str) -> None:
        for line in text.splitlines():
            # Of the lines with a pipe, the first program's rule takes the whole.
            for command in [line] if "|" in line else line.split(" && "):
                program, *words = shlex.split(command, comments=True)
                PROGRAMS[program](self, words, command)

    def formula(self, text: str) -> None:
        assert not any(line.split()[0] in PROGRAMS for line in text.splitlines())

    # Programs

    def gvibench(self, words: list[str], _: str) -> None:
        """Done here; only a GPU may be missing, which is one sentence."""
        assert main(words) in ((0, 2) if "cuda" in words else (0,))

    def snakemake(self, words: list[str], _: str) -> None:
        """Done here, with a profile for a cluster and with object storage as a dry run only."""
        away = False
        if "--workflow-profile" in words:
            at = words.index("--workflow-profile")
            profile = yaml.safe_load((ROOT / words[at + 1] / "config.yaml").read_text())
            # `make test-cluster` has this executor.
            away = profile["executor"] == "slurm"
            words = [*words[:at], "--workflow-profile", "none", *words[at + 2 :]]
        # tests/test_storage.py makes a whole study there.
        away |= "--default-storage-provider" in words
        self.project.snakemake(*words, *(["--dry-run"] if away or self.dry else []))

    def make(self, words: list[str], _: str) -> None:
        """Would find a target and all it needs; .ci/run and people do it."""
        assert words
        subprocess.run(["make", "-n", *words], cwd=ROOT, check=True, capture_output=True)

    def git(self, words: list[str], _: str) -> None:
        """Only a clone is asked for, and only the reader knows from where."""
        assert words == ["clone", "<this", "repository>", "gvibench"]

    def cd(self, words: list[str], _: str) -> None:
        assert words == ["gvibench"]

    def environment(self, words: list[str], _: str) -> None:
        """The folder that `make study` sets up, or one like it."""
        assert words in ([".venv/bin/activate"], ["-m", "venv", ".venv"])
        assert "VENV := .venv\n" in (ROOT / "Makefile").read_text()

    def pip(self, words: list[str], _: str) -> None:
        """Files and extras exist; `make` installs the same way."""
        assert words.pop(0) == "install"
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        if "-c" in words:
            assert (ROOT / words.pop(words.index("-c") + 1)).is_file()
        [package] = [word for word in words if not word.startswith("-")]
        found = re.fullmatch(r"(?:gvibench|\.)(?:\[([\w,]+)\])?", package)
        assert set((found[1] or "").split(",")) <= {"", *extras["optional-dependencies"]}

    def export(self, words: list[str], _: str) -> None:
        """The test has set the same variables, to its own values."""
        assert {word.partition("=")[0] for word in words} <= os.environ.keys()

    def tmux(self, words: list[str], _: str) -> None:
        assert words == []

    def rm(self, _: list[str], line: str) -> None:
        """Done, and there must be something to remove."""
        subprocess.run(["bash", "-c", line], check=True)

    def squeue(self, _: list[str], line: str) -> None:
        """Done with a pretended queue."""
        path = os.pathsep.join([str(self.project.folder / "bin"), os.environ["PATH"]])
        subprocess.run(["bash", "-euo", "pipefail", "-c", line], env={"PATH": path}, check=True)


LANGUAGES: dict[str, Callable[[Reader, str], None]] = {
    "python": Reader.python,
    "yaml": Reader.yaml,
    "sh": Reader.shell,
    "text": Reader.formula,
}
PROGRAMS: dict[str, Callable[[Reader, list[str], str], None]] = {
    "gvibench": Reader.gvibench,
    "snakemake": Reader.snakemake,
    "make": Reader.make,
    "git": Reader.git,
    "cd": Reader.cd,
    "source": Reader.environment,
    "python3": Reader.environment,
    "pip": Reader.pip,
    "export": Reader.export,
    "tmux": Reader.tmux,
    "rm": Reader.rm,
    "squeue": Reader.squeue,
}
