"""Test results in object storage with a local S3 server."""

import pytest
import xarray as xr

from gvibench.errors import UserError
from gvibench.store.traces import read_trace, write_trace
from problems import go
from workflow.project import STUDY, Project

BUCKET = "s3://studies"


def test_a_trace_is_read_from_object_storage(s3, tmp_path):
    trace = go()
    write_trace(tmp_path / "t.zarr.zip", trace)
    s3.upload_file(str(tmp_path / "t.zarr.zip"), "studies", "some/t.zarr.zip")
    read = read_trace(f"{BUCKET}/some/t.zarr.zip")
    assert read.attrs == read_trace(tmp_path / "t.zarr.zip").attrs
    with (
        xr.open_dataset(f"{BUCKET}/some/t.zarr.zip") as remote,
        xr.open_dataset(tmp_path / "t.zarr.zip") as local,
    ):
        assert remote.identical(local)


def test_a_missing_object_is_an_error(s3):
    with pytest.raises(UserError, match=r"cannot read s3://studies/none.zarr.zip: .*none"):
        read_trace(f"{BUCKET}/none.zarr.zip")


@pytest.mark.slow
def test_a_study_in_object_storage_equals_a_local_one(s3, tmp_path):
    study = {**STUDY, "datasets": {"first": STUDY["datasets"]["first"]}, "figures": []}
    local = Project.create(tmp_path / "local", study)
    stored = local.copy(tmp_path / "stored")
    local.snakemake()
    storage = ("--default-storage-provider", "s3", "--default-storage-prefix", BUCKET)
    stored.snakemake(*storage)
    keys = {item["Key"] for item in s3.list_objects_v2(Bucket="studies")["Contents"]}
    assert {*local.plan().runs, "results/s/aggregate.zarr.zip", "results/s/summary.md"} <= keys
    assert {"results/s/manifest.json", "results/s/config.yaml"} <= keys
    # No outputs remain on the local disk.
    assert set(stored.outputs()) == set()
    with (
        xr.open_dataset(f"{BUCKET}/results/s/aggregate.zarr.zip") as remote,
        xr.open_dataset(local.folder / "results/s/aggregate.zarr.zip") as expected,
    ):
        times = [name for name in expected.variables if "seconds" in name]
        assert remote.drop_vars(times).identical(expected.drop_vars(times))
    again = stored.snakemake(*storage)
    assert "Nothing to be done" in again.stdout + again.stderr
