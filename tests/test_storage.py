"""Results in object storage: a study against a real S3 server, started here."""

import contextlib
import importlib.util
import subprocess
import sys
import time

import pytest
import xarray as xr

from gvibench.errors import UserError
from gvibench.traces import read_trace, write_trace
from test_run import go
from workflow.project import STUDY, Project

BUCKET = "s3://studies"


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """The variables that lead to a server with an empty bucket."""
    if importlib.util.find_spec("moto") is None:
        pytest.skip("an S3 server needs gvibench[test]")
    import boto3

    log = tmp_path_factory.mktemp("s3") / "log"
    with log.open("w") as out:
        words = ["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"]
        server = subprocess.Popen([sys.executable, *words], stdout=out, stderr=out)
    try:
        while "Running on http" not in log.read_text():
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
        url = log.read_text().partition("Running on ")[2].split()[0]
        variables = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": url,
            "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "nobody",
            "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "nothing",
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            with contextlib.closing(boto3.client("s3")) as client:
                client.create_bucket(Bucket="studies")
                yield client
    finally:
        server.terminate()
        server.wait()


def test_a_trace_is_read_from_the_store(s3, tmp_path):
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


def test_what_is_not_there_is_one_sentence(s3):
    with pytest.raises(UserError, match=r"cannot read s3://studies/none.zarr.zip: .*none"):
        read_trace(f"{BUCKET}/none.zarr.zip")


@pytest.mark.slow
def test_a_study_in_the_store_equals_a_local_one(s3, tmp_path):
    study = {**STUDY, "datasets": {"first": STUDY["datasets"]["first"]}, "figures": []}
    local = Project.create(tmp_path / "local", study)
    stored = local.copy(tmp_path / "stored")
    local.snakemake()
    where = ("--default-storage-provider", "s3", "--default-storage-prefix", BUCKET)
    stored.snakemake(*where)
    keys = {found["Key"] for found in s3.list_objects_v2(Bucket="studies")["Contents"]}
    assert {*local.plan().runs, "results/s/aggregate.zarr.zip", "results/s/summary.md"} <= keys
    # Nothing but the manifest is left here.
    assert set(stored.outputs()) == set()
    with (
        xr.open_dataset(f"{BUCKET}/results/s/aggregate.zarr.zip") as remote,
        xr.open_dataset(local.folder / "results/s/aggregate.zarr.zip") as known,
    ):
        moving = [name for name in known.variables if "seconds" in name]
        assert remote.drop_vars(moving).identical(known.drop_vars(moving))
    again = stored.snakemake(*where)
    assert "Nothing to be done" in again.stdout + again.stderr
