import json
import warnings
import zipfile

import numpy as np
import pytest
import xarray as xr

from gvibench.errors import UserError
from gvibench.store.traces import SCALARS, read_trace, write_packed, write_trace
from gvibench.store.zarrzip import Group, open_zip, write_zip
from problems import go

NAMES = {
    "objective",
    "neg_elbo",
    "train_elbo_paper",
    "test_nll",
    "test_nll_at_mean",
    "test_accuracy",
    "grad_norm",
    "evaluations",
    "data_passes",
    "seconds",
    "step",
}


@pytest.fixture(scope="module")
def trace():
    return go(iterations=30, solver="sr-vn", record=("factor_norm", "covariance_factor_path"))


@pytest.fixture
def path(trace, tmp_path):
    write_trace(tmp_path / "t.zarr.zip", trace)
    return tmp_path / "t.zarr.zip"


def test_a_trace_is_read_bit_for_bit(trace, path):
    again = read_trace(path)
    assert np.array_equal(again.iteration, trace.iteration)
    assert np.array_equal(again.snapshot, trace.snapshot)
    assert np.array_equal(again.mean, trace.mean)
    assert again.scalars.keys() == trace.scalars.keys() == NAMES | {"factor_norm"}
    for name in trace.scalars:
        assert np.array_equal(again.scalars[name], trace.scalars[name])
    for name in trace.factors:
        assert np.array_equal(again.factors[name], trace.factors[name])
    assert trace.attrs.items() <= again.attrs.items()


def open_with_plain_xarray(path):
    return xr.open_zarr(f"zip::{path}", consolidated=False)


@pytest.mark.parametrize("opener", [open_with_plain_xarray, xr.open_dataset])
def test_xarray_opens_a_trace_without_a_warning(trace, path, opener):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with opener(path) as dataset:
            assert set(dataset.data_vars) >= NAMES | {"mean", "covariance_factor"}
            assert dataset["objective"].dims == ("iteration",)
            assert dataset["mean"].dims == ("snapshot", "feature")
            assert dataset["covariance_factor"].dims == ("feature", "feature_")
            assert dataset["covariance_factor_path"].dims == ("snapshot", "feature", "feature_")
            assert dataset["iteration"].values.tolist() == list(range(31))
            assert dataset["objective"].sel(iteration=30) == trace.scalars["objective"][-1]
            for name in NAMES:
                assert dataset[name].attrs["units"] == SCALARS[name][1]
                assert dataset[name].attrs["long_name"]
            assert json.loads(dataset.attrs["spec"])["solver"] == "sr-vn"


def test_xarray_opens_the_runs_of_a_file_of_several(tmp_path):
    runs = {f"seed-{seed}": go(iterations=5, seed=seed) for seed in (3, 4)}
    write_packed(tmp_path / "seeds-0.zarr.zip", runs.values())
    with pytest.raises(ValueError, match="contains 2 runs: open one of them with group='seed-3'"):
        xr.open_dataset(tmp_path / "seeds-0.zarr.zip")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = xr.open_datatree(tmp_path / "seeds-0.zarr.zip")
        for name, trace in runs.items():
            with xr.open_dataset(tmp_path / "seeds-0.zarr.zip", group=name) as dataset:
                for opened in (dataset, tree[name]):
                    assert np.array_equal(opened["objective"], trace.scalars["objective"])
                    assert opened.attrs["spec_hash"] == trace.attrs["spec_hash"]
    assert list(tree.children) == list(runs)
    tree.close()


def test_members_of_the_zip_are_unique(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert len(archive.namelist()) == len(set(archive.namelist()))


def test_the_file_depends_on_the_trace_only(trace, path, tmp_path):
    write_trace(tmp_path / "again.zarr.zip", trace)
    assert path.read_bytes() == (tmp_path / "again.zarr.zip").read_bytes()


def test_a_trace_has_all_required_attributes(trace):
    assert {
        "spec",
        "spec_hash",
        "code_hash",
        "status",
        "reason",
        "iterations_done",
        "step_used",
        "solver_form",
        "device",
        "dtype",
        "threads",
        "exclusive",
        "versions",
        "host",
        "wall_seconds",
        "cpu_seconds",
    } <= trace.attrs.keys()


def test_a_failed_write_leaves_no_file(trace, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(UserError, match="cannot write"):
        write_trace(tmp_path / "t.zarr.zip", trace)
    assert list(tmp_path.iterdir()) == []


def rewrite(path, change):
    """Apply a change to the attributes and arrays of a file."""
    with open_zip(path) as stored:
        attrs, arrays = stored.attrs, stored.read_all()
    change(attrs, arrays)
    group = Group(attrs)
    for name, values in arrays.items():
        group.put(name, values, [f"dim_{i}" for i in range(values.ndim)])
    write_zip(path, group)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda attrs, _: attrs.update(kind="x"), "is not a gvibench trace"),
        (lambda attrs, _: attrs.update(format=99), "has trace format 99"),
        (lambda attrs, _: attrs.pop("status"), "has no attribute 'status'"),
        (lambda _, arrays: arrays.pop("test_nll"), "has no variable 'test_nll'"),
        (
            lambda _, arrays: arrays.update(objective=np.zeros(3)),
            "and 'iteration' differ in length",
        ),
        (
            lambda _, arrays: arrays.update(iteration=np.arange(1, 32)),
            "does not start at iteration 0",
        ),
    ],
)
def test_an_invalid_trace_is_an_error_that_names_the_file(path, change, sentence):
    rewrite(path, change)
    with pytest.raises(UserError, match=sentence) as caught:
        read_trace(path)
    assert str(path) in str(caught.value)
