"""Bands over the seeds of a configuration."""

import numpy as np
import pandas as pd

from figures.made_aggregate import Run, make_dataset, study
from gvibench.analysis import bands
from gvibench.analysis.bands import band_table
from gvibench.analysis.configurations import configurations
from gvibench.analysis.gaps import gap


def test_band_over_iterations_excludes_diverged_runs_and_repeats_final_values(tmp_path):
    runs = [
        Run([14.0, 12.0, 11.0], iteration=[0, 2, 4]),
        Run([18.0, 10.0], seed=1, iteration=[0, 2]),
        Run([99.0, 999.0], seed=2, iteration=[0, 1], status="diverged"),
    ]
    dataset = make_dataset(tmp_path, runs)
    (config,) = configurations(dataset)
    band = band_table(gap(dataset, "objective"), [config], "median")
    np.testing.assert_allclose(band["at"], [0, 2, 4])
    np.testing.assert_allclose(band["center"], [6, 1, 0.5])
    np.testing.assert_allclose(band["low"], [4, 0, 0])
    np.testing.assert_allclose(band["high"], [8, 2, 1])


def test_band_over_seconds_ends_with_the_shortest_run(tmp_path):
    runs = [
        Run([14.0, 12.0, 11.0], seconds=[0.0, 1.0, 4.0]),
        Run([18.0, 10.0, 10.0], seed=1, seconds=[0.0, 2.0, 3.0]),
    ]
    dataset = make_dataset(tmp_path, runs)
    (config,) = configurations(dataset)
    table = band_table(
        gap(dataset, "objective"), [config], "mean", dataset["seconds"], is_time=True
    )
    at, center, high = (table[name].to_numpy() for name in ("at", "center", "high"))
    assert at[0] == at[1] == 1.0
    assert at[-1] == 3.0
    assert center[0] == 6.0  # mean of the initial values 4 and 8
    early = at[1:] < 2.0
    # Up to 2 s the second run keeps its initial gap of 8. The record at 4 s is after the end.
    np.testing.assert_allclose(center[1:][early], 5.0)
    np.testing.assert_allclose(center[1:][~early], 1.0)
    np.testing.assert_allclose(high[1:][~early], 2.0)


def test_bands_without_usable_runs_are_empty(tmp_path):
    dataset = make_dataset(tmp_path, [Run([14.0], status="diverged")])
    (config,) = configurations(dataset)
    gaps = gap(dataset, "objective")
    assert band_table(gaps, [config], "median").empty
    assert band_table(gaps, [config], "median", dataset["seconds"], is_time=True).empty


def test_the_median_is_robust_against_one_bad_seed(tmp_path):
    finals = [10.0 + 1e-6, 10.0 + 2e-6, 10.0 + 4e-6, 10.0 + 8e-6, 1010.0]
    dataset = make_dataset(
        tmp_path, [Run([2000.0, value], seed=seed) for seed, value in enumerate(finals)]
    )
    (config,) = configurations(dataset)
    gaps = gap(dataset, "objective")
    ends = {
        center: band_table(gaps, [config], center)["center"].iloc[-1]
        for center in ("median", "mean", "geometric")
    }
    np.testing.assert_allclose(ends["median"], 4e-6, rtol=1e-4)
    np.testing.assert_allclose(ends["mean"], 200.0, rtol=1e-4)
    np.testing.assert_allclose(ends["geometric"], (64e-24 * 1000) ** 0.2, rtol=1e-3)


def test_bands_of_many_configurations_are_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr(bands, "MAX_RUNS", 3)  # several blocks
    dataset = make_dataset(tmp_path, study())
    configs = [config for config in configurations(dataset)[::-1] if len(config.usable)]
    gaps = gap(dataset, "objective")
    table = band_table(gaps, configs, "median")
    alone = [band_table(gaps, [config], "median") for config in configs]
    pd.testing.assert_frame_equal(table, pd.concat(alone, ignore_index=True))
    assert table[["panel", "line"]].drop_duplicates().shape == (6 - 2, 2)


def test_bands_pass_through_the_records_at_which_a_metric_was_evaluated(tmp_path):
    nan = np.nan
    at, late = [0, 1, 2, 3, 4], [0, 1, 2, 3]
    runs = [
        Run([14.0] * 5, iteration=at, scalars={"test_nll": [9.0, 7.0, nan, nan, 3.0]}),
        Run([14.0] * 4, seed=1, iteration=late, scalars={"test_nll": [8.0, 6.0, nan, 4.0]}),
    ]
    dataset = make_dataset(tmp_path, runs)
    (config,) = configurations(dataset)
    band = band_table(dataset["test_nll"], [config], "median")
    assert band["at"].tolist() == [0, 1, 3, 4]  # the second run ended at iteration 3
    assert band["low"].tolist() == [8, 6, 4, 3]
    assert band["high"].tolist() == [9, 7, 7, 4]
    over_time = band_table(
        dataset["test_nll"], [config], "median", dataset["seconds"], is_time=True
    )
    assert not over_time.isna().any(axis=None)
    assert over_time["high"].iloc[0] == 9
    assert over_time["at"].iloc[-1] == 0.03
