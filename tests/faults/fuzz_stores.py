"""Fuzz the readers of files that gvibench writes."""

import contextlib
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_configs import run_spec
from fuzz_raw_files import SVMLIGHT
from fuzz_target import Target
from mutations import mutate_bytes, mutate_members, mutate_tree
from small_study import STUDY, Study

from gvibench.cli.main import main
from gvibench.engine.execute import execute
from gvibench.engine.optimum import find_optimum
from gvibench.engine.tuning import Trials
from gvibench.errors import UserError
from gvibench.store.aggregates import open_aggregate
from gvibench.store.choices import read_choice, read_choices
from gvibench.store.manifest import read_manifest
from gvibench.store.optima import read_optimum, write_optimum
from gvibench.store.prepared import read_prepared
from gvibench.store.traces import PACKED, read_traces, to_group, write_trace
from gvibench.store.trials import read_trials
from gvibench.store.zarrzip import Group, write_zip
from gvibench.study.aggregate import aggregate
from gvibench.study.cleanup import find_bad_traces
from gvibench.study.config import load_config
from gvibench.study.expand import expand

Mutation = Callable[[random.Random, bytes], bytes]
Reader = Callable[[Path], object]


def store_targets(folder: Path) -> list[Target]:
    """Return the targets that read files of gvibench."""
    return [*_zip_files(folder), *_json_files(folder)]


def _zip_files(folder: Path) -> list[Target]:
    spec = run_spec()
    files = _write_files(folder)
    data = read_prepared(files["data"])
    path = folder / "corrupt.zarr.zip"
    [trace] = read_traces(files["trace"])
    row = {"path": str(path), "group": None, "tuned_fields": []}
    row |= {"spec_hash": spec.spec_hash, "code_hash": trace.attrs["code_hash"]}

    def read_checked(path: Path) -> object:
        if problems := find_bad_traces([row]):
            raise UserError(problems[str(path)])
        [trace] = read_traces(path)
        return sorted((name, values.tobytes()) for name, values in trace.scalars.items())

    def resume(path: Path) -> object:
        """Resume from a checkpoint; a damaged one must not change the result."""
        resumed = execute(spec, data, checkpoint=path, checkpoint_every=1e9)
        return resumed.scalars["objective"].tobytes()

    return [
        _zip_target("trace", 600, files["trace"], _read_traces, path),
        _zip_target("trace of a study", 300, files["trace"], read_checked, path),
        _zip_target("prepared data", 300, files["data"], _read_prepared, path),
        _zip_target("prepared sparse data", 300, files["sparse"], _read_prepared, path),
        _zip_target("optimum", 300, files["optimum"], _read_optimum, path),
        _zip_target("tuning trials", 300, files["trials"], _read_trials, path),
        _zip_target("checkpoint", 150, files["checkpoint"], resume, path),
        _zip_target("packed traces", 200, files["packed"], _read_traces, path),
        # Zarr reads the aggregate and may accept members that were changed with valid checksums.
        _zip_target("aggregate", 150, files["aggregate"], _read_aggregate, path, mutate_bytes),
    ]


def _zip_target(
    name: str,
    count: int,
    source: Path,
    read: Reader,
    path: Path,
    mutate_content: Mutation = mutate_members,
) -> Target:
    """Return a target that corrupts the bytes or the members of a file and reads it at `path`."""
    content = source.read_bytes()
    path.write_bytes(content)
    before = repr(read(path))

    def make(rng: random.Random, k: int) -> tuple[str, bytes]:
        if k % 2:
            return "bytes", mutate_bytes(rng, content)
        return "members", mutate_content(rng, content)

    def feed(given: tuple[str, bytes]) -> None:
        kind, corrupt = given
        path.write_bytes(corrupt)
        result = read(path)
        if kind == "bytes":  # checksums detect damage, or it affects nothing that is read
            assert repr(result) == before, "damage was not detected"

    return Target(name, count, make, feed, path.name)


def _write_files(folder: Path) -> dict[str, Path]:
    """Write one valid file of each kind."""
    spec = run_spec()
    kinds = ("data", "sparse", "trace", "optimum", "trials", "packed")
    files = {kind: folder / f"{kind}.zarr.zip" for kind in kinds}
    files["checkpoint"] = folder / "checkpoint"
    data_json = json.dumps(json.loads(spec.canonical())["data"])
    main(["prepare", "--spec", data_json, "--out", str(files["data"])])
    rows = folder / "rows.svm"
    rows.write_bytes(SVMLIGHT[0])
    main(["prepare", "--dataset", "rows", "--path", str(rows), "--out", str(files["sparse"])])
    data = read_prepared(files["data"])
    trace = execute(spec, data, checkpoint=files["checkpoint"], checkpoint_every=0.0)
    write_trace(files["trace"], trace)
    write_optimum(files["optimum"], find_optimum(spec.problem(), data))
    trials = Trials(json.loads(spec.canonical()), data, path=files["trials"])
    trials.run(0.1, [1.0], [1000, 1001])
    trials.save()
    root = Group({"kind": PACKED})
    root.groups["seed-0"] = root.groups["seed-1"] = to_group(trace)
    write_zip(files["packed"], root)
    study = Study(STUDY, folder / "study")
    with contextlib.redirect_stdout(io.StringIO()):
        assert study.prepare() == study.run() == study.aggregate() == 0
    files["aggregate"] = study.aggregate_path
    return files


def _read_traces(path: Path) -> object:
    return [
        (trace.attrs, trace.iteration.tobytes(), sorted(trace.scalars), _bytes(trace.mean))
        for trace in read_traces(path)
    ]


def _read_prepared(path: Path) -> object:
    prepared = read_prepared(path)
    return prepared.spec, prepared.train_x.tobytes(), prepared.test_y.tobytes()


def _read_optimum(path: Path) -> object:
    optimum = read_optimum(path)
    return optimum.attrs, _bytes(optimum.mean), _bytes(optimum.covariance_factor)


def _read_trials(path: Path) -> object:
    stored = read_trials(path)
    return (
        stored.identity,
        stored.title,
        [
            (
                trial.key,
                trial.status,
                trial.seconds,
                _bytes(trial.iteration),
                _bytes(trial.objective),
            )
            for trial in stored.trials
        ],
    )


def _read_aggregate(path: Path) -> object:
    with open_aggregate(path) as dataset:
        # Sorted, because Zarr reads arrays concurrently.
        return sorted((str(name), v.values.tolist()) for name, v in dataset.variables.items())


def _bytes(array: np.ndarray | None) -> bytes | None:
    return None if array is None else array.tobytes()


def _json_files(folder: Path) -> list[Target]:
    choice = {"step": 0.1, "init_scale": 1.0, "objective": 3.0, "trials": 4, "diverged": 0}
    choice |= {"iterations": 100, "seconds": 0.1, "share_of_rows": 1.0, "points": []}
    choice |= {"note": "", "failed": None, "edges": {}, "extensions": {"step": 0, "init_scale": 0}}
    study = {"datasets": ["wdbc"], "solvers": ["vn"], "step": 0.1}
    manifest = json.loads(expand(load_config({"studies": {"s": study}})).manifest("s"))
    path = folder / "corrupt.json"

    def read_choice_list(path: Path) -> None:
        read_choices([path])

    def read_and_aggregate(path: Path) -> None:
        read_manifest(path)
        aggregate(path, folder / "never.zarr.zip")

    return [
        _json_target("choice", 150, choice, read_choice, path),
        _json_target("choices", 150, choice, read_choice_list, path),
        # Messages about a manifest may name its traces instead.
        _json_target("manifest", 200, manifest, read_and_aggregate, path, place=""),
    ]


def _json_target(
    name: str, count: int, tree: Any, read: Reader, path: Path, place: str | None = None
) -> Target:
    """Return a target that corrupts the text or the values of a JSON file and reads it."""

    def make(rng: random.Random, k: int) -> bytes:
        if k % 2:
            return mutate_bytes(rng, json.dumps(tree).encode())
        return json.dumps(mutate_tree(rng, tree), default=str, skipkeys=True).encode()

    def feed(content: bytes) -> None:
        path.write_bytes(content)
        read(path)

    return Target(name, count, make, feed, path.name if place is None else place)
