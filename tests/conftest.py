"""Fixtures of all tests, a separate cache, and a strict mode in which tests must not be skipped."""

import contextlib
import fcntl
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from gvibench import registry

# Set before workers start, so that all of them share one cache and compile once.
if "GVIBENCH_TEST_CACHE" not in os.environ:
    os.environ["GVIBENCH_TEST_CACHE"] = tempfile.mkdtemp(prefix="gvibench-test-cache-")
os.environ["GVIBENCH_CACHE"] = os.environ["GVIBENCH_TEST_CACHE"]

MAY_SKIP = ("needs a GPU", "needs the internet", "needs conda")
"""Reasons for skipping that strict mode accepts."""


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


@pytest.fixture(scope="session")
def build_once(
    tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Callable[[str, Callable[[Path], None]], Path]:
    """A function that builds a folder once for all processes of a test run."""
    own = tmp_path_factory.getbasetemp()
    root = own if worker_id == "master" else own.parent

    def get(name: str, build: Callable[[Path], None]) -> Path:
        folder, done = root / f"once-{name}", root / f"once-{name}.done"
        with (root / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                folder.mkdir()
                build(folder)
                done.touch()
        return folder

    return get


@contextlib.contextmanager
def _dask(*words: str) -> Iterator[subprocess.Popen]:
    no_output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", "dask", *words], **no_output)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def dask_scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Dask scheduler with two workers in separate processes."""
    from distributed import Client

    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    shared = ("--scheduler-file", str(file), "--no-dashboard", "--host", "127.0.0.1")
    single = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
    with contextlib.ExitStack() as stack:
        scheduler = stack.enter_context(_dask("scheduler", *shared, "--port", "0"))
        while not file.exists():
            assert scheduler.poll() is None
            time.sleep(0.1)
        for _ in range(2):
            stack.enter_context(_dask("worker", *shared, *single))
        address = json.loads(file.read_text())["address"]
        with Client(address) as client:
            client.wait_for_workers(2, timeout=60)
        yield address


@pytest.fixture(scope="module")
def s3(tmp_path_factory):
    """A client of a local S3 server with an empty bucket; environment variables point to it."""
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


@pytest.fixture
def write_svmlight() -> Callable[[Path, np.ndarray, np.ndarray], Path]:
    def write(path: Path, x: np.ndarray, y: np.ndarray) -> Path:
        lines = []
        for row, label in zip(x.tolist(), y.tolist(), strict=True):
            cells = (f"{column}:{value!r}" for column, value in enumerate(row, start=1) if value)
            lines.append(f"{label} {' '.join(cells)}\n")
        path.write_text("".join(lines))
        return path

    return write


@pytest.fixture
def sparse_rows() -> tuple[np.ndarray, np.ndarray]:
    """60 rows with 7 columns, of which two thirds are zero, and labels 1 and 2."""
    rng = np.random.default_rng(1)
    x = np.where(rng.random((60, 7)) < 0.3, rng.standard_normal((60, 7)), 0.0)
    x[0] = 1.0  # all columns occur
    return x, np.where(rng.random(60) < 0.4, 1, 2)


@pytest.fixture
def own_file(tmp_path: Path, write_svmlight, sparse_rows) -> Path:
    """The sparse rows as a user's svmlight file."""
    return write_svmlight(tmp_path / "mine.svm", *sparse_rows)


@pytest.fixture
def add_plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str, str], None]]:
    """Return a function that adds an entry point to a group, as an installed package would."""
    added: list[EntryPoint] = []

    def find(group: str) -> list[EntryPoint]:
        return [point for point in added if point.group == group]

    def add(group: str, name: str, value: str) -> None:
        added.append(EntryPoint(name, value, group))
        registry.forget_plugins()

    monkeypatch.setattr(registry, "entry_points", find)
    registry.forget_plugins()
    yield add
    registry.forget_plugins()
