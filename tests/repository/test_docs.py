"""Run the code blocks of the documentation, and check its commands and links."""

import ast
import re
import shlex
import shutil
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image, ImageFilter
from snakemake.cli import get_argument_parser

from figures.made_aggregate import study, write_aggregate
from gvibench import figures
from gvibench.cli.main import main
from gvibench.figures.theme import theme
from gvibench.numerics import expectations
from gvibench.registry import FIGURES
from gvibench.store.aggregates import open_aggregate
from gvibench.store.traces import write_packed
from problems import go
from reader import LANGUAGES, PROGRAMS, ROOT, Reader, anchors, blocks, prose, section

PAGES = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "docs").glob("*.md"))}
PAGES |= {name: ROOT / name for name in ("README.md", "CONTRIBUTING.md", "config/README.md")}
PAGES_WITH_LINKS = [
    *PAGES.values(),
    *ROOT.glob("docs/*/**/*.md"),
    *ROOT.glob("results/README.md"),
    *ROOT.glob("*.md"),
    *ROOT.glob("examples/**/*.md"),
]
SPECIAL_PAGES = {
    "README.md",
    "config/README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "api",
            "cluster",
            "extend",
            "faq",
            "figures",
            "own-data",
            "read-a-trace",
            "tutorial",
        )
    ),
    "docs/posterior-quality.md",
    "docs/way-of-a-number.md",
}
"""Pages that have a separate test."""
STYLE = {"width": "page", "font_size": 8.0, "center": "median"}
LINK = re.compile(r"\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")


@pytest.fixture
def reader(tmp_path, monkeypatch, build_once):
    """A reader with two finished studies."""
    reader = Reader(tmp_path / "gvibench")
    monkeypatch.chdir(reader.project.folder)
    made = build_once("made-study", lambda folder: write_aggregate(folder, study()))
    for name in ("mine", "default"):
        shutil.copytree(made, reader.project.folder / "results" / name)
    return reader


# Blocks


@pytest.mark.parametrize("name", PAGES)
def test_blocks_use_known_languages_and_programs(name):
    for language, text in blocks(PAGES[name]):
        assert language in LANGUAGES, text
        if language == "sh":
            for line in re.split(r"\n| && ", text.strip()):
                assert line.split()[0] in PROGRAMS, line
    assert "```" not in prose(PAGES[name])
    assert not re.search(r"^(    |\t)", prose(PAGES[name]), re.MULTILINE), "an indented block"


@pytest.mark.parametrize("name", [name for name in PAGES if name.startswith("docs/")])
def test_a_page_starts_with_its_purpose_and_an_example(name):
    start = PAGES[name].read_text().partition("\n## ")[0]
    assert re.match(r"# .*\n\n(This (page|tutorial)|After reading this page you)\b", start)
    # A comparison has no command.
    assert "\n```" in start or name == "docs/comparison.md"


@pytest.mark.parametrize("name", sorted(PAGES.keys() - SPECIAL_PAGES))
def test_page(reader, name):
    reader.follow(PAGES[name])


def test_reading_traces(reader):
    page = PAGES["docs/read-a-trace.md"]
    write_packed("seeds-0.zarr.zip", [go(iterations=3, seed=seed) for seed in (0, 1)])
    # `test_traces_elsewhere` runs the other blocks.
    reader.follow(page, leave_out=section(page, "Without gvibench"))


@pytest.mark.slow
def test_readme(reader):
    reader.follow(PAGES["README.md"])
    assert (reader.project.folder / "results/mine/report/index.html").stat().st_size > 0


@pytest.mark.slow
def test_judging_posteriors(reader):
    reader.follow(PAGES["docs/posterior-quality.md"])
    results = reader.project.folder / "results/quality"
    assert "Fit to the posterior" in (results / "tables/quality.md").read_text()
    assert "NUTS" in (results / "tables/truth.md").read_text()
    assert (results / "figures/calibration.png").stat().st_size > 0


def test_page_on_configs(reader):
    reader.dry = True
    reader.follow(PAGES["config/README.md"])
    listed = re.findall(r"^\| `(\S+)` \|", PAGES["config/README.md"].read_text(), re.MULTILINE)
    assert {path.name for path in (ROOT / "config").iterdir()} == {*listed, "README.md"}


def test_notebooks(reader):
    reader.follow(PAGES["docs/api.md"])
    runs = [reader.space["trace"], *reader.space["runs"]]
    assert len(runs) == 1 + 6
    assert not {run.attrs["status"] for run in runs} & {"diverged", "failed"}
    assert (reader.project.folder / "gap.pdf").stat().st_size > 0
    assert reader.space["study"].sizes["run"] == 24
    assert len(reader.space["left"].get_lines()) == 2


@pytest.mark.slow
def test_cluster(reader, s3):
    s3.create_bucket(Bucket="my-bucket")
    path = "results/default/aggregate.zarr.zip"
    s3.upload_file(path, "my-bucket", path)
    reader.follow(PAGES["docs/cluster.md"])
    assert Path("cancelled").read_text().split() == ["11", "13"]


def panels_of(figure, shape=(120, 180)):
    """Return the pixels within each panel, blurred and brought to one size."""
    FigureCanvasAgg(figure).draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    panels = []
    for axes in figure.axes:
        (left, low), (right, high) = axes.get_window_extent().get_points().round().astype(int)
        inside = Image.fromarray(pixels[len(pixels) - high : len(pixels) - low, left:right])
        small = inside.filter(ImageFilter.GaussianBlur(2)).resize(shape[::-1])
        panels.append(np.asarray(small, dtype=float) / 255)
    return panels


def distances(first, second):
    return [
        float(np.sqrt(((a - b) ** 2).mean()))
        for a, b in zip(panels_of(first), panels_of(second), strict=True)
    ]


def test_redrawing_a_figure_reproduces_it(reader):
    folder = reader.project.folder / "results/mine"
    job = {"figure": "gap", "study": "mine", "style": STYLE, "code_hash": ""}
    figures.draw(job, folder / "aggregate.zarr.zip", folder / "figures/gap.pdf")
    with matplotlib.rc_context():  # The page sets a theme.
        reader.follow(PAGES["docs/figures.md"])
    assert (reader.project.folder / "again.png").stat().st_size > 0
    with open_aggregate(folder / "aggregate.zarr.zip") as dataset, theme(STYLE):
        figure = FIGURES.load("gap")(dataset, STYLE).figure
        again = reader.space["grid"].figure
        assert max(distances(figure, again)) < 0.03
        # The tolerance is small enough to notice another curve.
        again.axes[0].get_lines()[0].set_ydata([50, 20, 5, 1, 0.1, 0.01])
        assert distances(figure, again)[0] > 0.04
    code = ast.parse(dict(blocks(PAGES["docs/figures.md"]))["python"])
    statements = [node for node in code.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    assert len(statements) <= 10


def value_after(solver, state, model, rho):
    """Return the objective after one step."""
    state = solver.step(state, model, rho)
    return model.objectives(state.mean, state.factor, state.oracle.value).objective


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
    rate = (value_after(space["solver"], start, model, 1e-6) - before) / 1e-6
    np.testing.assert_allclose(space["solver"].slope(start, model), -rate, rtol=1e-3)
    assert space["grown"].search.step == space["rule"].limit
    assert space["grown"].flow_time > 20 * 0.01
    assert space["loaded"].table.x.shape == (30, 2)
    drawing = space["drawing"]
    assert len(drawing.figure.axes[0].patches) == len(drawing.table) == len(drawing.shown)

    waiting = space["waiting"]
    oracle = waiting.full_oracle(np.zeros(3), start.factor, "hessian")
    offsets = 1e-6 * np.eye(3)
    slopes = [
        (
            waiting.full_oracle(+offset, start.factor, "hessian").value
            - waiting.full_oracle(-offset, start.factor, "hessian").value
        )
        / 2e-6
        for offset in offsets
    ]
    np.testing.assert_allclose(oracle.gradient, slopes, rtol=1e-5)

    exact = [float(values) for values in expectations.build("exact")(0.5, 0.2)]
    approximate = [float(space[name]) for name in ("f0", "f1", "f2")]
    np.testing.assert_allclose(approximate, exact, atol=1e-3)


@pytest.mark.slow
def test_tutorial(tmp_path, monkeypatch, capsys):
    reader = Reader(tmp_path / "gvibench")
    project = reader.project
    monkeypatch.chdir(project.folder)
    reader.follow(PAGES["docs/tutorial.md"])
    assert "diverged" in capsys.readouterr().out
    for name in ("summary.md", "figures/sensitivity.png"):
        assert (project.folder / "results/first" / name).stat().st_size > 0
    # A new solver adds its runs and updates the outputs that depend on them.
    config = project.folder / "config/first.yaml"
    assert "[vn, sr-vn]" in config.read_text()
    config.write_text(config.read_text().replace("[vn, sr-vn]", "[vn, sr-vn, bw-gd]"))
    outputs = project.executed("--configfile", "config/first.yaml")
    runs = {path for path in outputs if "/runs/" in path}
    assert {path.split("/")[4] for path in runs} == {"bw-gd"}
    assert len(runs) == 7 * 2
    assert not any(path.startswith(("results/data", "results/optima")) for path in outputs)


@pytest.mark.slow
def test_questions(tmp_path, monkeypatch, capsys):
    reader = Reader(tmp_path / "gvibench")
    monkeypatch.chdir(reader.project.folder)
    reader.follow(PAGES["docs/faq.md"])
    printed = capsys.readouterr().out
    assert "diverged: at iteration 1: V is not positive definite" in printed
    assert "10 runs" in printed  # of the study with the reader's own data
    # Removing a solver and adding it again re-runs nothing.
    config = reader.project.folder / "config/mine.yaml"
    original = config.read_text()
    reader.save("config/mine.yaml", re.sub(r" +gd: .*\n", "", original))
    words = ("--configfile", "config/mine.yaml", "--until", "run_solver")
    assert config.read_text() != original
    assert reader.project.executed(*words) == set()
    config.write_text(original)
    assert reader.project.executed(*words) == set()


@pytest.mark.slow
def test_own_data(tmp_path, monkeypatch, capsys):
    reader = Reader(tmp_path / "gvibench")
    monkeypatch.chdir(reader.project.folder)
    reader.follow(PAGES["docs/own-data.md"])
    printed = capsys.readouterr().out
    assert "one-hot: job (2), zip (1); dropped: id; standardised; with intercept" in printed
    assert "job=smith" in printed
    assert (reader.project.folder / "results/credit/summary.md").stat().st_size > 0


@pytest.mark.slow
def test_the_way_of_a_number(tmp_path, monkeypatch, capsys):
    reader = Reader(tmp_path / "gvibench")
    monkeypatch.chdir(reader.project.folder)
    reader.follow(PAGES["docs/way-of-a-number.md"])
    assert reader.space["gap"] > 0
    assert (reader.project.folder / "results/way/figures/gap.png").stat().st_size > 0


# Commands in the text


def commands(program):
    """Return the commands of a program in the text of all pages, as test parameters."""
    return [
        pytest.param(shlex.split(command), id=f"{name}: {program} {command}")
        for name, path in PAGES.items()
        for command in re.findall(rf"`{program} ([^`]+)`", prose(path).replace("\n", " "))
    ]


@pytest.mark.parametrize("words", commands("gvibench"))
def test_gvibench_command(words, capsys):
    """Check that the command and its flags exist."""
    with pytest.raises(SystemExit) as ended:
        main([words[0], "--help"])
    assert ended.value.code == 0
    flags = re.findall(r"--[\w-]+", capsys.readouterr().out)
    assert {word for word in words if word.startswith("--")} <= set(flags)


@pytest.mark.parametrize("words", commands("snakemake"))
def test_snakemake_command(words):
    help_text = get_argument_parser().format_help()
    for word in words:
        if word.startswith("-"):
            assert re.search(rf"(?<![\w-]){word}(?![\w-])", help_text), word
    for word in words:
        if word.startswith(("config/", "profiles/")):
            own = {"config/mine.yaml", "config/first.yaml"}
            assert word in own or (ROOT / word).exists()


@pytest.mark.parametrize("words", commands("make"))
def test_make_command(words):
    for word in words:
        assert re.search(rf"^{word}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


# Links


@pytest.mark.parametrize(
    "page", PAGES_WITH_LINKS, ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_links(page):
    for groups in LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page))):
        target, _, anchor = "".join(groups).partition("#")
        if re.match(r"https://", target):
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.is_relative_to(ROOT), target
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"
