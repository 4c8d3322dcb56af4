"""Cores and memory of the jobs behind the runs."""

import pytest

from gvibench.study.config import load_config
from gvibench.study.dask_settings import megabytes
from gvibench.study.expand import expand
from gvibench.study.output_resources import OutputResources


def resources(seeds, iterations=199, **config):
    study = {
        "datasets": {"synthetic": {"options": {"n": 40, "d": 3}}},
        "solvers": ["vn"],
        **{"step": 0.1, "beta": 1.0, "seeds": seeds, "iterations": iterations, "pack": 100},
    }
    return OutputResources.of(expand(load_config({"studies": {"s": study}, **config})), "s")


def test_small_studies_need_one_core_and_little_memory():
    assert resources(10) == OutputResources(1, 1000, 1, 1000)


def test_large_studies_aggregate_with_two_cores_and_need_more_memory():
    large = resources(50_000)
    assert (large.threads, large.analysis_threads) == (2, 1)
    # Measured with 50,000 runs of 200 records: 720 MB in three processes, and 480 MB for a figure.
    assert 750 <= large.memory_mb <= 2000
    assert 750 <= large.analysis_memory_mb <= 1500
    longer = resources(20_000, iterations=9999)
    assert longer.memory_mb > large.memory_mb
    assert longer.analysis_memory_mb > large.analysis_memory_mb


@pytest.mark.parametrize(
    ("dask", "threads", "analysis_threads"),
    [
        ({"local": {"workers": 4}}, 4, 4),
        ({"local": {"memory": "4GB"}}, 2, 2),
        ({"slurm": {"workers": 4}}, 1, 1),
        ({"scheduler_address": "tcp://host:1"}, 1, 1),
    ],
)
def test_a_job_reserves_the_cores_of_its_own_workers(dask, threads, analysis_threads):
    found = resources(50_000, dask=dask)
    assert (found.threads, found.analysis_threads) == (threads, analysis_threads)


def test_a_job_asks_for_the_memory_of_its_own_workers():
    found = resources(50_000, dask={"local": {"workers": 4, "memory": "16GB"}})
    assert 16_000 < found.memory_mb < 17_000
    assert 16_000 < found.analysis_memory_mb < 17_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2GB", 2000), ("1.5 GiB", 1.5 * 1024**3 / 1e6), ("500MB", 500), ("3000kB", 3), ("1TB", 1e6)],
)
def test_sizes_of_memory(text, expected):
    assert megabytes(text) == pytest.approx(expected)
