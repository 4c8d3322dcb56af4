"""Every block of the documentation is followed, every link leads somewhere."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from snakemake.cli import get_argument_parser

from figures.made_aggregate import study, write_aggregate
from gvibench.cli.main import main
from gvibench.numerics import expectations
from reader import LANGUAGES, PROGRAMS, ROOT, Reader, blocks, prose

PAGES = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "docs").glob("*.md"))}
PAGES["README.md"] = ROOT / "README.md"
LINKED = [
    *PAGES.values(),
    *ROOT.glob("docs/*/**/*.md"),
    *ROOT.glob("results/README.md"),
    *ROOT.glob("examples/*/README.md"),
]
ALONE = {
    "README.md",
    *(f"docs/{name}.md" for name in ("api", "cluster", "extend", "faq", "tutorial")),
}
"""Pages with a test of their own."""
LINK = re.compile(r"\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """Somebody whose two studies are finished."""
    found = Reader(tmp_path / "gvibench")
    monkeypatch.chdir(found.project.folder)
    for name in ("mine", "default"):
        folder = found.project.folder / "results" / name
        folder.mkdir(parents=True)
        write_aggregate(folder, study())
    return found


# Blocks


@pytest.mark.parametrize("name", PAGES)
def test_every_block_has_a_rule(name):
    for language, text in blocks(PAGES[name]):
        assert language in LANGUAGES, text
        if language == "sh":
            for line in re.split(r"\n| && ", text.strip()):
                assert line.split()[0] in PROGRAMS, line
    assert "```" not in prose(PAGES[name])
    assert not re.search(r"^(    |\t)", prose(PAGES[name]), re.MULTILINE), "an indented block"


@pytest.mark.parametrize("name", sorted(PAGES.keys() - ALONE))
def test_page(reader, name):
    reader.follow(PAGES[name])


def test_readme(reader):
    reader.dry = True  # its study takes minutes, and downloads data
    reader.follow(PAGES["README.md"])
    assert (reader.project.folder / "both.html").stat().st_size > 0


def test_notebooks(reader):
    reader.follow(PAGES["docs/api.md"])
    runs = [reader.space["trace"], *reader.space["runs"]]
    assert len(runs) == 1 + 6
    assert not {run.attrs["status"] for run in runs} & {"diverged", "failed"}
    assert (reader.project.folder / "gap.pdf").stat().st_size > 0
    assert reader.space["study"].sizes["run"] == 24
    assert len(reader.space["left"].get_lines()) == 2


def test_cluster(reader, s3):
    s3.create_bucket(Bucket="my-bucket")
    made = "results/default/aggregate.zarr.zip"
    s3.upload_file(made, "my-bucket", made)
    reader.follow(PAGES["docs/cluster.md"])
    assert Path("cancelled").read_text().split() == ["11", "13"]


def test_extending(reader, capsys):
    reader.follow(PAGES["docs/extend.md"])
    space = reader.space
    assert (reader.project.folder / "grand_vn/pyproject.toml").is_file()
    assert "vn conforms" in capsys.readouterr().out

    state, model = space["state"], space["model"]
    start = space["solver"].init(model, np.zeros(3), 0.5)
    before = model.objectives(start.mean, start.factor, start.oracle.value).objective
    assert state.iteration == 20
    assert space["objective"] < before
    assert space["loaded"].table.x.shape == (30, 2)
    assert len(space["figure"].axes[0].patches) == len(space["shown"])

    poisson = space["poisson"]
    oracle = poisson.full_oracle(np.zeros(3), start.factor, "hessian")
    nudge = 1e-6 * np.eye(3)
    slopes = [
        (
            poisson.full_oracle(+step, start.factor, "hessian").value
            - poisson.full_oracle(-step, start.factor, "hessian").value
        )
        / 2e-6
        for step in nudge
    ]
    np.testing.assert_allclose(oracle.gradient, slopes, rtol=1e-5)

    exact = [float(values) for values in expectations.build("exact")(0.5, 0.2)]
    found = [float(space[name]) for name in ("f0", "f1", "f2")]
    np.testing.assert_allclose(found, exact, atol=1e-3)


@pytest.mark.slow
def test_tutorial(tmp_path, monkeypatch, capsys):
    reader = Reader(tmp_path / "gvibench")
    project = reader.project
    monkeypatch.chdir(project.folder)
    reader.follow(PAGES["docs/tutorial.md"])
    assert "diverged" in capsys.readouterr().out
    for name in ("summary.md", "figures/sensitivity.png"):
        assert (project.folder / "results/mine" / name).stat().st_size > 0
    # Change something: only the new solver runs, and what depends on it.
    config = project.folder / "config/mine.yaml"
    assert "[vn, sr-vn]" in config.read_text()
    config.write_text(config.read_text().replace("[vn, sr-vn]", "[vn, sr-vn, bw-gd]"))
    made = project.executed("--configfile", "config/mine.yaml")
    runs = {path for path in made if "/runs/" in path}
    assert {path.split("/")[4] for path in runs} == {"bw-gd"}
    assert len(runs) == 7 * 2
    assert not any(path.startswith(("results/data", "results/optima")) for path in made)


@pytest.mark.slow
def test_questions(tmp_path, monkeypatch, capsys):
    reader = Reader(tmp_path / "gvibench")
    monkeypatch.chdir(reader.project.folder)
    reader.follow(PAGES["docs/faq.md"])
    said = capsys.readouterr().out
    assert "diverged: at iteration 1: V is not positive definite" in said
    assert "10 runs" in said  # of the reader's own data
    # A solver that is taken out and put back runs nothing again.
    config = reader.project.folder / "config/mine.yaml"
    whole = config.read_text()
    reader.save("config/mine.yaml", re.sub(r" +gd: .*\n", "", whole))
    words = ("--configfile", "config/mine.yaml", "--until", "run_solver")
    assert config.read_text() != whole
    assert reader.project.executed(*words) == set()
    config.write_text(whole)
    assert reader.project.executed(*words) == set()


# Commands in the text


def commands(program):
    """The commands of a program that stand in the text, with where they do."""
    return [
        pytest.param(shlex.split(found), id=f"{name}: {program} {found}")
        for name, path in PAGES.items()
        for found in re.findall(rf"`{program} ([^`]+)`", prose(path).replace("\n", " "))
    ]


@pytest.mark.parametrize("words", commands("gvibench"))
def test_command_of_ours(words, capsys):
    """It is one of ours, with flags that it has; what it needs may be missing."""
    with pytest.raises(SystemExit) as ended:
        main([words[0], "--help"])
    assert ended.value.code == 0
    flags = re.findall(r"--[\w-]+", capsys.readouterr().out)
    assert {word for word in words if word.startswith("--")} <= set(flags)


@pytest.mark.parametrize("words", commands("snakemake"))
def test_command_of_snakemake(words):
    help_text = get_argument_parser().format_help()
    for word in words:
        if word.startswith("-"):
            assert re.search(rf"(?<![\w-]){word}(?![\w-])", help_text), word
    for word in words:
        if word.startswith(("config/", "profiles/")):
            assert word == "config/mine.yaml" or (ROOT / word).exists()


@pytest.mark.parametrize("words", commands("make"))
def test_command_of_make(words):
    for word in words:
        assert re.search(rf"^{word}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


# Links


def anchors(page):
    """What GitHub, and the site, call the headings of a page."""
    found = re.findall(r"^#+ (.*)", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text).strip().lower().replace(" ", "-") for text in found}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links(page):
    for found in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page))):
        target, _, anchor = "".join(found).partition("#")
        if re.match(r"https://", target):
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.is_relative_to(ROOT), target
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"
