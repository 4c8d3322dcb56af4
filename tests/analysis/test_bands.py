"""Bands over the seeds of a configuration."""

import numpy as np

from figures.made_aggregate import Run, make_dataset
from gvibench.analysis.bands import band_over_iterations, bands_over_seconds
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
    band = band_over_iterations(gap(dataset, "objective"), config)
    np.testing.assert_allclose(band.at, [0, 2, 4])
    np.testing.assert_allclose(band.center, [6, 1, 0.5])
    np.testing.assert_allclose(band.low, [4, 0, 0])
    np.testing.assert_allclose(band.high, [8, 2, 1])


def test_band_over_seconds_ends_with_the_shortest_run(tmp_path):
    runs = [
        Run([14.0, 12.0, 11.0], seconds=[0.0, 1.0, 4.0]),
        Run([18.0, 10.0, 10.0], seed=1, seconds=[0.0, 2.0, 3.0]),
    ]
    dataset = make_dataset(tmp_path, runs)
    (config,) = configurations(dataset)
    band = bands_over_seconds(dataset)(gap(dataset, "objective"), config, "mean")
    assert band.at[0] == band.at[1] == 1.0
    assert band.at[-1] == 3.0
    assert band.center[0] == 6.0  # mean of the initial values 4 and 8
    early = band.at[1:] < 2.0
    # Up to 2 s the second run keeps its initial gap of 8. The record at 4 s is after the end.
    np.testing.assert_allclose(band.center[1:][early], 5.0)
    np.testing.assert_allclose(band.center[1:][~early], 1.0)
    np.testing.assert_allclose(band.high[1:][~early], 2.0)


def test_bands_without_usable_runs_are_empty(tmp_path):
    dataset = make_dataset(tmp_path, [Run([14.0], status="diverged")])
    (config,) = configurations(dataset)
    gaps = gap(dataset, "objective")
    assert len(band_over_iterations(gaps, config).at) == 0
    assert len(bands_over_seconds(dataset)(gaps, config, "median").at) == 0


def test_the_median_is_robust_against_one_bad_seed(tmp_path):
    finals = [10.0 + 1e-6, 10.0 + 2e-6, 10.0 + 4e-6, 10.0 + 8e-6, 1010.0]
    dataset = make_dataset(
        tmp_path, [Run([2000.0, value], seed=seed) for seed, value in enumerate(finals)]
    )
    (config,) = configurations(dataset)
    gaps = gap(dataset, "objective")
    ends = {
        center: band_over_iterations(gaps, config, center).center[-1]
        for center in ("median", "mean", "geometric")
    }
    np.testing.assert_allclose(ends["median"], 4e-6, rtol=1e-4)
    np.testing.assert_allclose(ends["mean"], 200.0, rtol=1e-4)
    np.testing.assert_allclose(ends["geometric"], (64e-24 * 1000) ** 0.2, rtol=1e-3)
