"""Test Dask workers whose working directory is not that of the job."""

from pathlib import Path

import numpy as np
import pytest

from figures.made_aggregate import study, write_aggregate
from gvibench.store.aggregates import open_aggregate, open_study
from gvibench.study.aggregate import aggregate
from gvibench.study.parallel import Dask, array_workers


@pytest.mark.slow
def test_relative_paths(tmp_path, monkeypatch, dask_scheduler):
    write_aggregate(tmp_path, study())
    monkeypatch.chdir(tmp_path)
    dask = Dask(settings={"scheduler_address": dask_scheduler, "runs_per_task": 5})
    aggregate(Path("manifest.json"), Path("sharded.zarr.zip"), dask=dask)
    with array_workers(dask), open_study("sharded.zarr.zip") as dataset:
        assert len(dataset["objective"].chunks[0]) == 5
        lowest = dataset["objective"].min("record").values
    with open_aggregate("aggregate.zarr.zip") as dataset:
        assert np.array_equal(lowest, dataset["objective"].min("record").values)
