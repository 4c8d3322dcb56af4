"""Test that the published numbers and conclusions follow from the published archive."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gvibench.analysis.scores import bootstrap
from gvibench.benchmark import pages
from gvibench.benchmark.entries import ARCHIVE, archive_path, development_path
from gvibench.benchmark.instances import instances, read_benchmark, study_of, targets_of
from gvibench.benchmark.protocol import FROZEN
from gvibench.benchmark.verify import agreement, run_instance, verify
from gvibench.store.outcomes import read_outcomes
from gvibench.tables.run_times import run_times_table

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs/benchmark"
CONFIG = read_benchmark(ROOT / "config/benchmark.yaml")
LEAGUES = list(pages.leagues())


def test_all_leagues_are_published_under_the_frozen_rules():
    assert [(league, track) for league, track, _ in LEAGUES] == [
        (league, track) for league in ("untuned", "tuned") for track in "abc"
    ]
    assert {outcomes.attrs["rules"] for _, _, outcomes in LEAGUES} == {FROZEN}
    assert sum(path.stat().st_size for path in ARCHIVE.iterdir()) < 10e6


@pytest.mark.parametrize(("league", "track", "outcomes"), LEAGUES)
def test_tables_are_recomputed_from_the_archive(league, track, outcomes):
    for name, table in pages.tables_of(outcomes).items():
        published = pd.read_csv(PUBLISHED / f"{league}-{track}" / f"{name}.csv")
        computed = pd.read_csv(io.StringIO(table.values.to_csv(index=False)))
        pd.testing.assert_frame_equal(computed, published, rtol=1e-9)


def test_the_pages_are_recomputed_from_the_archive(monkeypatch):
    monkeypatch.chdir(ROOT)  # where the config of the benchmark is
    assert (PUBLISHED / "results.md").read_text() == pages.page()
    assert (PUBLISHED / "problems.md").read_text() == pages.cards_page()


def test_development_problems_are_shown_and_not_scored():
    outcomes = read_outcomes(development_path())
    table = run_times_table(outcomes, pages.settings_of(outcomes))
    published = pd.read_csv(PUBLISHED / "development/run-times.csv")
    computed = pd.read_csv(io.StringIO(table.values.to_csv(index=False)))
    pd.testing.assert_frame_equal(computed, published, rtol=1e-9)
    scored = {name for _, _, each in LEAGUES for name in each["problem"].values}
    assert not scored & {*outcomes["problem"].values}


def test_other_limits_and_the_cost_of_tuning_are_published():
    marked = {
        str(entry)
        for _, _, each in LEAGUES
        for entry in each["entry"].values[each["other_limit"].values != ""]
    }
    assert marked == {"BaM", "GSM", "Laplace"}
    for league, _, outcomes in LEAGUES:
        # A search in which no step worked shows no cost of an iteration.
        costs = outcomes["tuning_cost"].where(outcomes["status"] != "failed").median("instance")
        assert ((costs > 0) == (league == "tuned")).all()


def test_the_captions_of_the_readme_quote_the_archive():
    """The README quotes scores, counts and medians of track A without tuning."""
    text = " ".join((ROOT / "README.md").read_text().split())
    outcomes = read_outcomes(archive_path("a"))
    found = bootstrap(outcomes, 1000.0)
    best = found.isel(entry=0)
    low, high = float(best["score_low"]), float(best["score_high"])
    assert f"{best['entry'].values} with automatic steps has the highest score" in text
    assert f"{float(best['score']):.3f} (95 % interval {low:.3f} to {high:.3f})" in text
    cost = outcomes["cost"].sel(target=1e-8)
    plain, changed = (
        np.isfinite(cost).sel(instance=(outcomes["basis_condition"] == 1) == is_plain)
        for is_plain in (True, False)
    )
    total = plain.sizes["instance"]
    assert changed.sizes["instance"] == total
    counts, after = (each.sum("instance").to_series() for each in (plain, changed))
    natural = counts[counts > 50]
    assert len(natural) == 5
    assert f"on {natural.min()} to {natural.max()} of {total} instances" in text
    assert (after[natural.index] == natural).all()  # "on as many"
    others = counts.drop(natural.index)
    assert f"on at most {others.max()} of {total}, and on none after the change" in text
    assert not after[others.index].any()
    reached = cost.where(np.isfinite(cost)).sel(entry=natural.index.tolist())
    medians = reached.median("instance")
    assert f"medians of {float(medians.min()):.0f} to {float(medians.max()):.0f} passes" in text


@pytest.mark.parametrize("track", ["a", "b", "c"])
def test_the_archive_has_all_instances_and_entries(track):
    study, outcomes = study_of(CONFIG, track), read_outcomes(archive_path(track))
    assert outcomes["instance"].values.tolist() == [each.name for each in instances(study)]
    assert outcomes.sizes["entry"] == len(study.solvers)
    np.testing.assert_allclose(outcomes["target"].values, targets_of(study))


def test_published_runs_can_be_repeated():
    study, outcomes = study_of(CONFIG, "a"), read_outcomes(archive_path("a"))
    (each,) = [e for e in instances(study, "sr-vn") if e.name == "haberman.affine.random"]
    run = run_instance(each)
    costs = outcomes["cost"].sel(entry="SR-VN", instance=each.name).values
    for target, cost in zip(outcomes["target"].values, costs, strict=True):
        assert abs(run.cost[np.flatnonzero(run.gap <= target)[0]] - cost) <= 1


def test_a_share_of_an_entry_is_verified():
    found = verify("vn", "A", CONFIG, share=0.02, seed=3)
    assert found.instances == 2
    assert found.agreeing == found.targets


def test_other_costs_do_not_agree():
    outcomes = read_outcomes(archive_path("a")).isel(entry=0).isel(instance=slice(3))
    slower = outcomes.assign(cost=2 * outcomes["cost"] + 3)
    found = agreement(outcomes, slower)
    assert found.agreeing < found.targets
    assert "3 instances run again" in str(found)
