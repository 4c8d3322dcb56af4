"""Run the studies in examples/, and compare their conclusions and figures with the results."""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

from gvibench.cli.main import main
from gvibench.study.config import read_config
from reader import ROOT, Project, blocks, prose

EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/config.yaml"))
MAX_BYTES = 160_000
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-\d+)?")
OSCILLATING = {
    "step-size": "step == 1 or (line == 'BW-GD' and step > 0.03)",
    "initial-scale": "step == 1 and line == 'VN'",
    "tuning": "(line == 'BW-GD-tuned' and evaluations > 100) or high < 1e-8",
}
"""Rows of figures whose steps are too long to converge, or whose gaps are rounding errors.

Rounding errors differ between processors. Long steps amplify them up to the leading digits.
"""
CHANGED_PIXELS = {"step-size": 0.01, "tuning": 0.01}
"""Share of pixels that oscillating runs change; 0.001 for figures without such lines."""


class Example(NamedTuple):
    """An example and the results of its study."""

    name: str
    folder: Path
    results: Path

    def runs(self) -> pd.DataFrame:
        return pd.read_csv(self.results / "tables/runs.csv")

    def figure(self) -> str:
        """Return the name of the only figure."""
        [study] = read_config(self.folder / "config.yaml").studies.values()
        [figure] = study.figures
        return figure


def examples():
    return pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)


def paragraphs(page):
    return [" ".join(text.split()) for text in page.read_text().split("\n\n")]


def conclusion(folder):
    """Return the paragraph below the picture."""
    texts = paragraphs(folder / "README.md")
    [picture] = [text for text in texts if text.startswith("![")]
    return texts[texts.index(picture) + 1]


# Without running the studies


def test_there_is_an_example_for_each_question():
    assert {folder.name for folder in EXAMPLES} == CHECKS.keys()


@examples()
def test_plan_accepts_the_config(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", str(folder / "config.yaml")]) == 0
    assert re.search(r"^\d+ jobs: .* runs", capsys.readouterr().out)


@examples()
def test_data_are_bundled(folder):
    [study] = read_config(folder / "config.yaml").studies.values()
    assert set(study.datasets) <= {"wdbc", "digits-odd-even", "synthetic"}


@examples()
def test_an_example_has_one_small_picture(folder):
    [picture] = folder.glob("*.png")
    assert picture.stat().st_size < MAX_BYTES
    assert f"]({picture.name})" in (folder / "README.md").read_text()
    assert picture.with_suffix(".csv").exists()


@examples()
def test_the_index_repeats_title_and_conclusion(folder):
    index = paragraphs(ROOT / "examples/README.md")
    title = paragraphs(folder / "README.md")[0]
    assert f"#{title}" in index
    assert conclusion(folder) in index
    [study] = read_config(folder / "config.yaml").studies.values()
    assert title == f"# {study.title}"


@examples()
def test_only_the_conclusion_contains_numbers(folder):
    """Check that no number escapes the comparison with the results."""
    text = re.sub(r"\]\(.*?\)|`.*?`", "", prose(folder / "README.md"))
    stated = NUMBER.findall(text)
    assert stated == NUMBER.findall(re.sub(r"`.*?`", "", conclusion(folder)))


# With the results of a run


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = Project.create(tmp_path_factory.mktemp("examples") / "project", {})
    shutil.copytree(ROOT / "examples", project.folder / "examples")
    return project


@pytest.fixture(scope="module", params=EXAMPLES, ids=lambda folder: folder.name)
def example(project, request):
    """An example after the command that its page prints."""
    folder = request.param
    [block] = blocks(folder / "README.md")
    program, *words = shlex.split(block.text)
    assert program == "snakemake"
    project.snakemake(*words)
    results = project.folder / "results/examples" / folder.name
    assert (results / "report/index.html").stat().st_size > 0
    return Example(folder.name, folder, results)


def converges(runs):
    """Return whether there are runs and all of them have converged."""
    return len(runs) > 0 and set(runs["status"]) == {"converged"}


def median(runs):
    """Return the median gap of runs of one configuration, all of which are usable."""
    assert len(runs) == 5
    assert not runs["gap"].isna().any()
    return runs["gap"].median()


def rounded(value):
    """Return a value with the two digits that conclusions state."""
    return float(f"{value:.2g}")


def rises_late(dataset):
    """Return the runs whose objective rises by a thousandth in the second half."""
    objective, iteration = dataset["objective"].values, dataset["iteration"].values
    second_half = iteration[:, 1:] > np.nanmax(iteration, axis=1, keepdims=True) / 2
    rises = np.diff(objective, axis=1) > 1e-3 * np.abs(objective[:, 1:])
    return (second_half & rises).any(axis=1)


def check_step_size(example, numbers):
    iterations, long, longer, short, gap, longest, near, far, shorter, from_step = numbers
    runs = example.runs().assign(step=lambda table: table["step"].map(rounded))
    by_step = dict(iter(runs.groupby(["solver", "step"])))
    assert runs["iterations_done"].max() == iterations
    assert set(runs["dataset"]) == {"wdbc"}
    for solver in ("vn", "sr-vn"):
        assert converges(by_step[solver, long])
        assert converges(by_step[solver, longer])
        assert rounded(median(by_step[solver, short])) == gap
        assert rounded(median(by_step[solver, shorter])) == far
        for step in runs["step"][runs["step"] <= shorter].unique():
            assert median(by_step["bw-gd", step]) < median(by_step[solver, step])
    assert longest == runs["step"].max()
    assert "converged" not in set(runs[runs["step"] == longest]["status"])
    assert rounded(median(by_step["bw-gd", shorter])) == near
    assert "converged" not in set(runs[runs["solver"] == "bw-gd"]["status"])
    with xr.open_dataset(example.results / "aggregate.zarr.zip") as dataset:
        steps = np.array([rounded(step) for step in dataset["step"].values])
        is_long = (dataset["solver"].values == "bw-gd") & (steps >= from_step)
        assert is_long.sum() == 4 * 5
        assert rises_late(dataset)[is_long].all()
        assert not rises_late(dataset)[(dataset["solver"].values == "bw-gd") & ~is_long].any()


def check_initial_scale(example, numbers):
    long, small, large, iterations, short, far, smallest, near, again = numbers
    runs = example.runs()
    parts = dict(iter(runs.groupby(["solver", "step", "init_scale"])))
    assert runs["iterations_done"].max() == iterations
    assert set(runs["dataset"]) == {"synthetic"}
    assert converges(parts["sr-vn", long, small])
    assert set(parts["sr-vn", long, large]["status"]) == {"diverged"}
    assert converges(runs[(runs["solver"] == "vn") & (runs["step"] == long)])
    assert large == again
    for solver in ("vn", "sr-vn"):
        assert float(f"{median(parts[solver, short, smallest]):.1g}") == far
        assert near / 2 < median(parts[solver, short, large]) < near


def check_piecewise_bound(example, numbers):
    bound, few, accurate, many, loss, small_loss, some, again = numbers
    table = pd.read_csv(example.results / "figures/bias.csv")
    columns = ["quantity", "degree", "pieces"]
    above = {key: part["above_optimum"].item() for key, part in table.groupby(columns)}
    assert set(table["panel"]) == {"wdbc"}
    assert rounded(above["bound", "linear", few]) == bound
    assert rounded(above["bound", "quadratic", many]) == accurate
    assert rounded(above["exact objective", "linear", few]) == loss
    assert rounded(above["exact objective", "quadratic", many]) == small_loss
    assert many == again
    for quantity in ("bound", "exact objective"):
        assert above[quantity, "quadratic", some] < above[quantity, "linear", many]
    assert converges(example.runs())


def performance(example):
    """Return the rows of the performance table by the title of the solver."""
    table = pd.read_csv(example.results / "tables/performance.csv")
    assert set(table["dataset"]) == {"wdbc"}
    return {row["method"]: row for row in table.to_dict("records")}


def check_tuning(example, numbers):
    level, *automatic, vn, sr_vn, of_vn, of_sr_vn, iterations, gap, tuned_gap = numbers
    rows = performance(example)
    settled = f"evaluations_settled_{level:g}_median"
    names = ("VN", "SR-VN", "VN-tuned", "SR-VN-tuned")
    assert [float(rows[name][settled]) for name in names] == [*automatic, vn, sr_vn]
    assert all(rows[name][f"reached_settled_{level:g}"] == 5 for name in names)
    assert [rows[name]["tuning_iterations"] for name in names] == [0, 0, of_vn, of_sr_vn]
    assert example.runs()["iterations_done"].max() == iterations
    for name, expected in (("GD-Chol", gap), ("GD-Chol-tuned", tuned_gap)):
        assert rounded(float(rows[name]["gap_median"])) == expected
        assert rows[name][f"reached_settled_{level:g}"] == 0


def check_geometry_or_estimator(example, numbers):
    iterations, *gaps = numbers
    rows = performance(example)
    assert example.runs()["iterations_done"].max() == iterations
    medians = {
        (solver, estimator): float(rows[f"{solver}, estimator {estimator}"]["gap_median"])
        for solver in ("SR-VN", "GD-Chol", "BW-GD")
        for estimator in ("price", "reparam")
    }
    solvers = ("SR-VN", "GD-Chol", "BW-GD")
    price = [medians[solver, "price"] for solver in solvers]
    ratios = [medians[solver, "reparam"] / medians[solver, "price"] for solver in solvers]
    assert [rounded(value) for value in (*price, *ratios)] == gaps
    assert medians["SR-VN", "reparam"] < medians["BW-GD", "price"]


CHECKS: dict[str, Callable[[Example, list[float]], None]] = {
    "step-size": check_step_size,
    "initial-scale": check_initial_scale,
    "piecewise-bound": check_piecewise_bound,
    "tuning": check_tuning,
    "geometry-or-estimator": check_geometry_or_estimator,
}


@pytest.mark.slow
def test_the_conclusion_follows_from_the_results(example):
    text = re.sub(r"`.*?`", "", conclusion(example.folder))
    CHECKS[example.name](example, [float(number) for number in NUMBER.findall(text)])


@pytest.mark.slow
def test_the_numbers_of_the_figure_are_current(example):
    published, current = (
        pd.read_csv(folder / f"{example.figure()}.csv")
        for folder in (example.folder, example.results / "figures")
    )
    if query := OSCILLATING.get(example.name):
        assert current.eval(query).mean() < 0.6
        published, current = (
            table[~table.eval(query)].reset_index(drop=True) for table in (published, current)
        )
    pd.testing.assert_frame_equal(published, current, rtol=1e-5)


@pytest.mark.slow
def test_the_picture_is_current(example):
    published, current = (
        Image.open(folder / f"{example.figure()}.png").convert("RGB")
        for folder in (example.folder, example.results / "figures")
    )
    assert published.size == current.size, "run make examples"
    difference = np.abs(np.asarray(published, dtype=float) - np.asarray(current, dtype=float))
    changed = (difference.max(axis=-1) > 64).mean()
    assert changed < CHANGED_PIXELS.get(example.name, 0.001), "run make examples"
