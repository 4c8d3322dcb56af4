"""Run the documented code that reads traces with other programs, where gvibench is missing."""

import json
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest

from figures.made_aggregate import study, write_aggregate
from gvibench.cli.main import main
from gvibench.datasets.cache import prepared_path
from gvibench.engine.execute import execute
from gvibench.spec.run import RunSpec
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import read_trace, read_traces, write_packed
from reader import ROOT, section

BLOCKS = [block.text for block in section(ROOT / "docs/read-a-trace.md", "Without gvibench")]
REMOTE = [text for text in BLOCKS if "s3://" in text]
READERS = ("xarray", "zarr", "tensorstore", "obstore")

BEFORE = """
import importlib.metadata, importlib.util, sys

sys.path.append(sys.argv[1])
assert importlib.util.find_spec("gvibench") is None
backends = importlib.metadata.entry_points(group="xarray.backends")
assert "gvibench" not in backends.names
"""
AFTER = """
import json

print(json.dumps(objective.tolist()))
assert not any(name.startswith("gvibench") for name in sys.modules)
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A folder with links to all installed packages except gvibench."""
    folder = tmp_path_factory.mktemp("packages")
    for site in {Path(distribution(name).locate_file("")).resolve() for name in READERS}:
        for path in site.iterdir():
            if not path.name.startswith("gvibench"):
                (folder / path.name).symlink_to(path)
    return folder


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """A folder with a trace of `gvibench run`, a packed file of the same run, and an aggregate."""
    folder = tmp_path_factory.mktemp("traces")
    words = "run --dataset wdbc --solver vn --step 0.3 --iterations 40 --record cov_eig_min"
    assert main([*words.split(), "--out", str(folder / "t.zarr.zip")]) == 0
    spec = RunSpec.from_dict(read_trace(folder / "t.zarr.zip").spec)
    data = read_prepared(prepared_path(spec.data))
    seeds = [execute(spec.replace(seed=seed), data) for seed in range(3)]
    write_packed(folder / "seeds-0.zarr.zip", seeds)
    write_aggregate(folder, study())
    return folder


def objective_of(block, packages, traces):
    """Run a block in a process without gvibench, and return its variable `objective`."""
    # -I ignores PYTHONPATH, and -S leaves out the installed packages, which include gvibench.
    options = ["-I", "-S", "-W", "error::UserWarning"]
    done = subprocess.run(
        [sys.executable, *options, "-c", BEFORE + block + AFTER, str(packages)],
        cwd=traces,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_page_shows_each_reader_for_each_kind_of_file():
    for package in ("xarray", "zarr", "tensorstore"):
        reads = [text for text in BLOCKS if text.startswith(f"import {package}")]
        for file in ("t.zarr.zip", "seeds-0.zarr.zip", "aggregate.zarr.zip"):
            assert any(f'"{file}"' in text or f"::{file}" in text for text in reads), file


@pytest.mark.parametrize("block", [text for text in BLOCKS if text not in REMOTE])
@pytest.mark.slow
def test_local_files(block, packages, traces):
    expected = read_trace(traces / "t.zarr.zip")
    if "seed-1" in block:
        expected = read_traces(traces / "seeds-0.zarr.zip")[1]
        assert expected.spec["seed"] == 1
    if "aggregate" in block:
        [expected] = read_traces(traces / "run-0.zarr.zip")
    assert np.array_equal(objective_of(block, packages, traces), expected.scalars["objective"])


@pytest.mark.parametrize("block", REMOTE)
@pytest.mark.slow
def test_object_storage(block, packages, traces, s3):
    s3.create_bucket(Bucket="my-bucket")
    s3.upload_file(str(traces / "t.zarr.zip"), "my-bucket", "t.zarr.zip")
    expected = read_trace(traces / "t.zarr.zip").scalars["objective"]
    assert np.array_equal(objective_of(block, packages, traces), expected)
