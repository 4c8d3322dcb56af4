"""What all tests share: a cache of their own, and a strict mode that forbids skipping."""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# Set before workers start, so that all of them share one cache and compile once.
if "GVIBENCH_TEST_CACHE" not in os.environ:
    os.environ["GVIBENCH_TEST_CACHE"] = tempfile.mkdtemp(prefix="gvibench-test-cache-")
os.environ["GVIBENCH_CACHE"] = os.environ["GVIBENCH_TEST_CACHE"]

MAY_SKIP = ("needs a GPU", "needs the internet", "needs conda")
"""Reasons that are accepted even in strict mode: what cannot be had on the machine that checks."""


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("GVIBENCH_STRICT") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(allowed in reason for allowed in MAY_SKIP):
            report.outcome = "failed"
            report.longrepr = f"skipped, which strict mode forbids: {reason}"


@pytest.fixture(scope="session")
def libsvm_data() -> Path:
    """The folder with the real LIBSVM files."""
    folder = os.environ.get("GVIBENCH_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("GVIBENCH_DATA does not name a folder with the LIBSVM files")
    return Path(folder)


@contextlib.contextmanager
def _dask(*words: str) -> Iterator[subprocess.Popen]:
    quietly = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", "dask", *words], **quietly)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def dask_scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real scheduler with two workers, each a process of its own."""
    from distributed import Client

    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    shared = ("--scheduler-file", str(file), "--no-dashboard", "--host", "127.0.0.1")
    alone = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(_dask("scheduler", *shared, "--port", "0"))
        while not file.exists():
            assert scheduler.poll() is None
            time.sleep(0.1)
        for _ in range(2):
            stack.enter_context(_dask("worker", *shared, *alone))
        address = json.loads(file.read_text())["address"]
        with Client(address) as client:
            client.wait_for_workers(2, timeout=60)
        yield address


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """A client of a real S3 server with an empty bucket; variables lead there."""
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
