"""Compare the texts on published studies with their published numbers."""

import re

import numpy as np
import pandas as pd
import pytest

from gvibench.study.config import read_config
from gvibench.study.expand import expand
from gvibench.study.plan import solver_title
from reader import ROOT

NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")
SETTLED = "evaluations_settled_0.0001_median"
SOLVES_ALL = ("VN", "SR-VN", "FR-KL")


def numbers_after(page, picture):
    """Return the numbers in the paragraph that follows a picture, without those in code."""
    paragraphs = [" ".join(text.split()) for text in (ROOT / page).read_text().split("\n\n")]
    [position] = [k for k, text in enumerate(paragraphs) if f"]({picture})" in text]
    text = re.sub(r"`.*?`|\]\(.*?\)", "", paragraphs[position + 1])
    return [float(number) for number in NUMBER.findall(text)]


def table_of(folder):
    return pd.read_csv(ROOT / "docs" / folder / "performance.csv")


@pytest.mark.parametrize(
    ("folder", "config"),
    [
        ("default-study", "config.yaml"),
        ("geometry-or-estimator", "geometry-or-estimator.yaml"),
    ],
)
def test_the_numbers_belong_to_the_current_config(folder, config):
    plan = expand(read_config(ROOT / "config" / config))
    planned = {
        (job.dataset, solver_title(job.solver, job.specs[0].solver), job.tuning is not None)
        for job in plan.runs.values()
    }
    table = table_of(folder)
    names = table["method"].str.partition(",")[0]
    assert set(zip(table["dataset"], names, table["tuned"], strict=True)) == planned
    assert set(table["seeds"]) == {5}


def default_numbers():
    table = table_of("default-study").set_index(["method", "dataset"])
    solved = table.loc[list(SOLVES_ALL)]
    tuned = table.loc[[f"{name}-tuned" for name in SOLVES_ALL]]
    for rows in (solved, tuned):
        assert (rows["reached_settled_0.0001"] == rows["seeds"]).all()
    ranges = [
        limit(rows[column].astype(float))
        for rows, column in ((solved, SETTLED), (tuned, SETTLED), (tuned, "tuning_iterations"))
        for limit in (np.min, np.max)
    ]
    others = table.loc[["BW-GD", "GD-Chol", "BW-GD-tuned", "GD-Chol-tuned"]]
    unsolved = others.drop(index="synthetic", level="dataset")
    assert (unsolved["reached_settled_0.0001"] == 0).all()
    return table, ranges


def test_what_tuning_buys():
    table, ranges = default_numbers()
    names = ("BW-GD", "GD-Chol", "BW-GD-tuned", "GD-Chol-tuned")
    on_synthetic = [float(table.loc[(name, "synthetic"), SETTLED]) for name in names]
    reached = [table.loc[(name, "synthetic"), "reached_settled_0.0001"] for name in names]
    assert reached == [5, 5, 4, 4]
    stated = numbers_after("docs/what-tuning-buys.md", "default-study/gap.png")
    assert stated == [1e-4, *ranges, *on_synthetic]


def rounded(value):
    return float(f"{value:.2g}")


def test_geometry_or_estimator():
    table = table_of("geometry-or-estimator")
    table["solver"] = table["method"].str.partition(",")[0]
    gaps = table.pivot(index=["dataset", "solver"], columns="estimator", values="gap_median")
    ratios = gaps["reparam"] / gaps["price"]
    spread = gaps["price"].groupby("dataset").max() / gaps["price"].groupby("dataset").min()
    stated = numbers_after("docs/geometry-or-estimator.md", "geometry-or-estimator/gap.png")
    on_wdbc = [rounded(ratios["wdbc", name]) for name in ("SR-VN", "BW-GD", "GD-Chol", "VN")]
    pair = [
        rounded(gaps.loc[("wdbc", "SR-VN"), "reparam"]),
        rounded(gaps["price"]["wdbc", "BW-GD"]),
    ]
    assert stated == [
        rounded(ratios.min()),
        *on_wdbc,
        rounded(spread["wdbc"]),
        rounded(spread["synthetic"]),
        *pair,
    ]
    assert pair[0] < pair[1]
    diverged = table.set_index(["dataset", "solver", "estimator"])["diverged"]
    assert diverged.groupby("estimator").sum().to_dict() == {"price": 0, "reparam": 6}
    assert diverged["synthetic", "BW-GD", "reparam"] == 4
    assert diverged.drop(index="synthetic", level="dataset").sum() == 0
