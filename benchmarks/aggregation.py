"""Measure the time to aggregate traces, and compare it with reading them by zarr and xarray.

python benchmarks/aggregation.py [TRACES] [POINTS]
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import xarray as xr
import zarr
from measure import table
from zarr.storage import ZipStore

from gvibench.datasets.cache import prepared_path
from gvibench.engine.execute import execute
from gvibench.spec.run import RunSpec
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import SCALARS, Trace, write_trace
from gvibench.study.aggregate import aggregate
from gvibench.study.defaults import complete_data

COUNT, POINTS = 500, 2000


def write_study(folder: Path, count: int, points: int) -> Path:
    """Write random traces and their manifest; return the path of the manifest."""
    rng = np.random.default_rng(0)
    names = list(SCALARS)[:8]
    entries = []
    tiny = complete_data({"dataset": "synthetic", "options": {"n": 20, "d": 2}})
    start = RunSpec(data=tiny, beta=1.0, solver="vn", step=0.1, iterations=1)
    template = execute(start, read_prepared(prepared_path(tiny))).attrs
    for seed in range(count):
        spec = start.replace(seed=seed)
        attrs = template | {"spec": spec.canonical(), "spec_hash": spec.spec_hash}
        curves = {name: rng.standard_normal(points) for name in names}
        path = folder / f"{seed}.zarr.zip"
        snapshot = np.arange(32)
        mean = rng.standard_normal((32, 50))
        write_trace(path, Trace(np.arange(points), curves, attrs, snapshot, mean))
        entries.append(
            {
                "path": str(path),
                "group": None,
                "dataset": "x",
                "solver": "vn",
                "seed": seed,
                "choice": None,
                "tuned_fields": [],
                "spec_hash": spec.spec_hash,
                "code_hash": template["code_hash"],
                "optimum": None,
                "exact_optimum": None,
                "beta_choice": None,
            }
        )
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({"study": "b", "title": "", "gap": "optimum", "runs": entries}))
    return manifest


def read_with_zarr(path: Path) -> None:
    with ZipStore(path, mode="r") as store:
        group = zarr.open_group(store, mode="r")
        for name in list(SCALARS)[:8]:
            group[name][:]


def read_with_xarray(path: Path) -> None:
    with xr.open_zarr(f"zip::{path}", consolidated=False) as dataset:
        dataset[list(SCALARS)[:8]].load()


def seconds(function: Callable[[], object]) -> float:
    # Wall time, because aggregation uses several threads and processes.
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def measure(count: int = COUNT, points: int = POINTS) -> dict[str, float]:
    """Return seconds per trace for gvibench, zarr and xarray."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = write_study(folder, count, points)
        ours = seconds(lambda: aggregate(manifest, folder / "out.zarr.zip")) / count
        sample = [folder / f"{k}.zarr.zip" for k in range(min(50, count))]
        by_zarr = seconds(lambda: [read_with_zarr(path) for path in sample]) / len(sample)
        by_xarray = seconds(lambda: [read_with_xarray(path) for path in sample]) / len(sample)
    return {"gvibench aggregates": ours, "zarr reads": by_zarr, "xarray reads": by_xarray}


def as_table(results: dict[str, float]) -> str:
    lines = [[f"{name} a trace", f"{1e3 * value:.2f}"] for name, value in results.items()]
    return table(["operation", "ms"], lines)


if __name__ == "__main__":
    print(as_table(measure(*map(int, sys.argv[1:]))))
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"peak memory: {own:.0f} MB in this process, {children:.0f} MB in the largest worker")
