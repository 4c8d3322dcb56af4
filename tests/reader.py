"""Run the code blocks of a documentation page in a separate project.

The blocks of a page are run as printed, in order and in one folder. Commands that need a network, a
cluster, root or an hour, or that would change this machine, are checked instead of run. The method
for a program defines how. A block in an unknown language or with an unknown program is an error. A
page may use the study of the README without repeating its config.
"""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Collection
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
"""Study that takes seconds; settings from a block with a part of a config are added to it."""

SQUEUE = """#!/bin/sh
printf '11 gvibench-run\\n12 somebody-elses\\n13 gvibench-draw\\n'
"""
SCANCEL = """#!/bin/sh
echo "$@" >> cancelled
"""


class Block(NamedTuple):
    """A fenced code block."""

    language: str
    text: str


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of a page."""
    return [Block(*groups) for groups in FENCED.findall(page.read_text())]


def section(page: Path, title: str) -> list[Block]:
    """Return the code blocks below a heading of the second level."""
    _, found, rest = page.read_text().partition(f"\n## {title}\n")
    assert found, f"{page} has no section '{title}'"
    return [Block(*groups) for groups in FENCED.findall(rest.partition("\n## ")[0])]


def prose(page: Path) -> str:
    """Return the text of a page without its code blocks."""
    return FENCED.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub and the site generate for the headings of a page."""
    headings = re.findall(r"^#+ (.*)", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text).strip().lower().replace(" ", "-") for text in headings}


class Reader:
    """A user with a clone, and with the config of the README in config/mine.yaml."""

    def __init__(self, folder: Path, *, dry: bool = False) -> None:
        self.project = Project.create(folder, SMALL)
        shutil.copytree(ROOT / "config", folder / "config", dirs_exist_ok=True)
        self.dry = dry
        """Whether to plan studies instead of running them."""
        self.space: dict[str, object] = {}
        """Variables of the Python blocks so far."""
        [config] = [text for kind, text in blocks(ROOT / "README.md") if kind == "yaml"]
        self.save("config/mine.yaml", config)
        self.save("bin/squeue", SQUEUE).chmod(0o755)
        self.save("bin/scancel", SCANCEL).chmod(0o755)

    def save(self, name: str, text: str) -> Path:
        path = self.project.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def follow(self, page: Path, leave_out: Collection[Block] = ()) -> None:
        """Run the blocks of a page; the working directory must be the project."""
        assert Path.cwd() == self.project.folder
        for block in blocks(page):
            if block not in leave_out:
                LANGUAGES[block.language](self, block.text)

    # Languages

    def python(self, text: str) -> None:
        exec(compile(text, "block", "exec"), self.space)

    def yaml(self, text: str) -> None:
        """Check a config or a part of one, and write it to the path in its first line."""
        config = yaml.safe_load(text)
        if "studies" in config:
            name = re.match(r"# (config/\w+\.yaml)\n", text)
            assert name, "the first line of a config must be its path"
            self.save(name[1], text)
        elif config.keys() <= Config.model_fields.keys():
            config = {"studies": {"s": SMALL}, **config}
        else:
            config = {"studies": {"s": {**SMALL, **config}}}
        assert expand(load_config(config)).runs

    def shell(self, text: str) -> None:
        for line in text.splitlines():
            # A line with a pipe is handled by the method for its first program.
            for command in [line] if "|" in line else line.split(" && "):
                program, *words = shlex.split(command, comments=True)
                PROGRAMS[program](self, words, command)

    def formula(self, text: str) -> None:
        assert not any(line.split()[0] in PROGRAMS for line in text.splitlines())

    def snakefile(self, text: str) -> None:
        """Check nothing more; `workflow/test_module.py` runs the block."""
        assert "module gvibench:" in text

    # Programs

    def gvibench(self, words: list[str], _: str) -> None:
        """Run the command; it may fail with code 2 if it needs a GPU."""
        try:
            code = main(words)
        except SystemExit as ended:  # the help
            code = ended.code
        assert code in ((0, 2) if "cuda" in words else (0,))

    def snakemake(self, words: list[str], _: str) -> None:
        """Run the command, or do a dry run if it needs a cluster, object storage or minutes."""
        # A test of the examples runs a smaller version of this study.
        remote = "config/geometry-or-estimator.yaml" in words
        if "--workflow-profile" in words:
            at = words.index("--workflow-profile")
            profile = yaml.safe_load((ROOT / words[at + 1] / "config.yaml").read_text())
            # `make test-cluster` tests this executor.
            remote = profile["executor"] == "slurm"
            words = [*words[:at], "--workflow-profile", "none", *words[at + 2 :]]
        # A test of object storage runs a complete study.
        remote |= "--default-storage-provider" in words
        self.project.snakemake(*words, *(["--dry-run"] if remote or self.dry else []))

    def make(self, words: list[str], _: str) -> None:
        """Do a dry run; .ci/run runs the targets."""
        assert words
        subprocess.run(["make", "-n", *words], cwd=ROOT, check=True, capture_output=True)

    def git(self, words: list[str], _: str) -> None:
        """Check that the command is a clone of a placeholder address."""
        assert words == ["clone", "<this", "repository>", "gvibench"]

    def cd(self, words: list[str], _: str) -> None:
        assert words == ["gvibench"]

    def environment(self, words: list[str], _: str) -> None:
        """Check that the environment is the one that `make study` creates."""
        assert words in ([".venv/bin/activate"], ["-m", "venv", ".venv"])
        assert "VENV := .venv\n" in (ROOT / "Makefile").read_text()

    def pip(self, words: list[str], _: str) -> None:
        """Check that files and extras exist."""
        assert words.pop(0) == "install"
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        if "-c" in words:
            assert (ROOT / words.pop(words.index("-c") + 1)).is_file()
        [package] = [word for word in words if not word.startswith("-")]
        match = re.fullmatch(r"(?:gvibench|\.)(?:\[([\w,]+)\])?", package)
        assert set((match[1] or "").split(",")) <= {"", *extras["optional-dependencies"]}

    def export(self, words: list[str], _: str) -> None:
        """Check that the test has set these variables."""
        assert {word.partition("=")[0] for word in words} <= os.environ.keys()

    def tmux(self, words: list[str], _: str) -> None:
        assert words == []

    def rm(self, _: list[str], line: str) -> None:
        """Run the command; the files must exist."""
        subprocess.run(["bash", "-c", line], check=True)

    def squeue(self, _: list[str], line: str) -> None:
        """Run the line with a simulated queue."""
        path = os.pathsep.join([str(self.project.folder / "bin"), os.environ["PATH"]])
        subprocess.run(["bash", "-euo", "pipefail", "-c", line], env={"PATH": path}, check=True)


LANGUAGES: dict[str, Callable[[Reader, str], None]] = {
    "python": Reader.python,
    "yaml": Reader.yaml,
    "sh": Reader.shell,
    "text": Reader.formula,
    "snakemake": Reader.snakefile,
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
