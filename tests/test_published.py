"""The committed results of the paper's study: whole, in step with the config, and reproducible."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from gvibench.api import load_study
from gvibench.spec.paper_values import PAPER_RESULTS
from gvibench.study.config import read_config
from gvibench.study.expand import expand
from gvibench.tables.paper import IMPOSSIBLE, REPRODUCED, judge

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "docs/paper"
SMALL = {"australian_scale", "diabetes_scale", "breast-cancer_scale"}
NUMBERS = ["objective", "train_elbo_paper", "test_nll", "test_accuracy"]


def runs_of(folder, study):
    return pd.read_csv(folder / study / "tables/runs.csv")


def studies():
    config = read_config(ROOT / "config/paper.yaml")
    return [name for name, study in config.studies.items() if "runs" in study.tables]


def test_they_are_of_this_config():
    published = yaml.safe_load((PUBLISHED / "config.yaml").read_text())
    assert published == yaml.safe_load((ROOT / "config/paper.yaml").read_text()), (
        "config/paper.yaml has changed: run make gallery"
    )


@pytest.mark.parametrize("study", studies())
def test_every_run_of_the_plan_is_there(study):
    plan = expand(read_config(ROOT / "config/paper.yaml"))
    jobs = plan.of_study(study)
    runs = runs_of(PUBLISHED, study)
    assert len(runs) == sum(len(job.specs) for job in jobs)
    known = {spec.spec_hash for job in jobs for spec in job.specs if not job.opened}
    untuned = {hash_ for hash_ in runs["spec_hash"] if hash_ in known}
    assert untuned == known


def test_the_papers_table_is_what_the_runs_say():
    made = judge(runs_of(PUBLISHED, "paper-steps"))
    published = pd.read_csv(PUBLISHED / "paper-steps/tables/paper.csv")
    # What was published before statuses had five values has other columns about failed runs.
    shared = [name for name in published.columns if name in made.columns]
    assert len(shared) > 20
    made, published = made[shared], published[shared]
    pd.testing.assert_frame_equal(made, published, check_dtype=False, rtol=1e-12)
    assert set(made["dataset"]) == {*PAPER_RESULTS, "covtype-50k"}
    verdicts = made.set_index(["dataset", "solver"])["verdict"]
    assert set(verdicts[verdicts == REPRODUCED].index.get_level_values(0)) == SMALL
    assert (verdicts == REPRODUCED).sum() == 9
    assert set(verdicts[verdicts == IMPOSSIBLE].index.get_level_values(0)) == {
        "covtype",
        "leukemia",
    }


def test_the_reproduced_rows_are_reached_at_the_papers_steps():
    made = judge(runs_of(PUBLISHED, "paper-steps")).set_index("dataset").loc[sorted(SMALL)]
    assert made["train_elbo_difference"].abs().max() < 0.015
    assert made["test_nll_difference"].abs().max() < 0.015


def test_provenance_is_with_every_study_and_the_whole_is_small():
    for study in read_config(ROOT / "config/paper.yaml").studies:
        assert json.loads((PUBLISHED / study / "versions.json").read_text())["numpy"]
        assert "Where the numbers come from" in (PUBLISHED / study / "summary.md").read_text()
    size = sum(path.stat().st_size for path in PUBLISHED.rglob("*") if path.is_file())
    assert size < 20e6


def fresh_clone(folder):
    """Copy the project without anything that a study made."""
    leave = shutil.ignore_patterns("results", ".snakemake", ".git", ".venv", "docs", "site")
    shutil.copytree(ROOT, folder, ignore=leave)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def restless(study):
    """Return the runs whose objective, past half their records, still rises by a thousandth.

    Their steps are too long to settle. They carry rounding errors, which every version of the code
    and every processor makes differently, up to the first digits.
    """
    dataset = load_study(study)
    second_half = dataset["objective"].values[:, dataset.sizes["iteration"] // 2 :]
    rises = np.diff(second_half, axis=1) > 1e-3 * np.abs(second_half[:, 1:])
    return dataset["spec_hash"].values[rises.any(axis=1)]


def compare_with_published(results):
    """Check every run of finished studies; return how many there are."""
    compared = 0
    for study in studies():
        made = results / study / "tables/runs.csv"
        if not made.exists():  # a study of large data only
            continue
        ours = pd.read_csv(made).set_index("spec_hash").sort_index()
        theirs = runs_of(PUBLISHED, study).set_index("spec_hash")
        assert set(ours.index) <= set(theirs.index), f"{study}: other runs, or other choices"
        theirs = theirs.loc[ours.index]
        # What was published before statuses had five values knows "completed" and "diverged" only.
        diverged = ours["status"] == "diverged"
        assert diverged.equals(theirs["status"] == "diverged"), study
        # Where a run that diverges is caught, its last digits say nothing.
        done = ~diverged & ~ours.index.isin(restless(results / study))
        pd.testing.assert_frame_equal(ours.loc[done, NUMBERS], theirs.loc[done, NUMBERS], rtol=1e-6)
        compared += len(ours)
    return compared


def run(words, folder):
    path = os.pathsep.join([str(ROOT / ".venv/bin"), os.environ["PATH"]])
    environment = {**os.environ, "CI": "true", "PATH": path}
    subprocess.run(words, cwd=folder, check=True, env=environment)


@pytest.mark.slow
def test_the_reproduced_rows_are_made_again(libsvm_data, tmp_path):
    clone = fresh_clone(tmp_path / "clone")
    config = read_config(ROOT / "config/paper.yaml")
    sets = {name for study in config.studies.values() for name in study.datasets}
    words = ["snakemake", "--configfile", "config/paper.yaml"]
    words += ["--config", f"without=[{','.join(sorted(sets - SMALL))}]"]
    run([*words, "--", "results/paper/paper-steps/tables/runs.csv"], clone)
    assert compare_with_published(clone / "results/paper") == 9 * 5


@pytest.mark.paper
def test_paper_small_makes_the_same_numbers(libsvm_data, tmp_path):
    clone = fresh_clone(tmp_path / "clone")
    run(["make", "paper-small"], clone)
    assert compare_with_published(clone / "results/paper") > 500
