"""Many traces become one labelled dataset: `run` × `iteration`.

Every trace is checked on the way in: the checksums of its zip, its layout, and both hashes against
what the config expects. Work is cut into Dask tasks of a hundred traces or more; chunks go into the
output as tasks finish, so that memory does not grow with the study.
"""

import contextlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numcodecs import Zstd

from gvibench.engine.optimum import Optimum, read_optimum
from gvibench.errors import UserError
from gvibench.spec.code import versions
from gvibench.spec.run import hash_values
from gvibench.store.choices import Choice, read_beta_note, read_choice
from gvibench.store.files import atomic_path
from gvibench.store.traces import SCALARS, check_attributes, trace_from_group
from gvibench.store.zarrzip import Group, StoredGroup, chunked_array, member, open_zip
from gvibench.study.parallel import task_runner

__all__ = ["KIND", "aggregate", "check", "read_manifest", "spec_coordinates"]

KIND = "gvibench aggregate"
RUNS_PER_TASK = 100
COMPRESSION_LEVEL = 1
IN_PROCESS = 2 * RUNS_PER_TASK
"""Up to this many runs a process of its own costs more than it saves."""
REFERENCES = ("objective", "neg_elbo", "train_elbo_paper", "test_nll", "test_accuracy")
"""Metrics whose value at the optimum of the objective is worth knowing."""
ATTRIBUTES = (
    "n_train",
    "n_test",
    "d",
    "iterations_done",
    "step_used",
    "wall_seconds",
    "cpu_seconds",
    "warmup_seconds",
)
PATH = "covariance_factor_path"
LABELS = ("dataset", "solver", "status", "reason", "spec_hash", "code_hash", "device", "host")

ENTRY_KEYS = frozenset(
    {
        *("path", "group", "dataset", "solver", "seed", "spec_hash", "code_hash", "opened"),
        *("choice", "beta_choice", "optimum", "exact_optimum"),
    }
)

OPTIONAL_PATHS = ("choice", "beta_choice", "optimum", "exact_optimum")

Entry = dict[str, Any]
"""One run in the manifest."""


@dataclass(frozen=True)
class Row:
    """What is known of a run before its curves are read."""

    iteration: np.ndarray
    names: tuple[str, ...]
    attrs: dict[str, Any]


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the list of runs that a study consists of."""
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(
            f"{path} is not the manifest of a study ({error}): start snakemake again"
        ) from error
    if not _is_manifest(manifest):
        raise UserError(f"{path} is not the manifest of a study: start snakemake again")
    return manifest


def _is_manifest(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and {"study", "title", "gap", "runs"} <= set(found)
        and isinstance(found["runs"], list)
        and len(found["runs"]) > 0
        and all(map(_is_entry, found["runs"]))
    )


def _is_entry(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and set(found) >= ENTRY_KEYS
        and all(isinstance(found[name], str) for name in ("path", "dataset", "solver"))
        and all(isinstance(found[name], str | None) for name in ("group", *OPTIONAL_PATHS))
        and isinstance(found["opened"], list)
    )


def aggregate(
    manifest_path: Path,
    out: Path,
    *,
    root: Path = Path(),
    dask: Mapping[str, Any] | None = None,
) -> None:
    """Read every trace of a study and write one dataset; bad traces are named, all of them.

    The manifest's paths are relative to `root`, and `dask` says where the tasks run: see
    `gvibench.study.parallel`.
    """
    manifest = read_manifest(manifest_path)
    manifest["runs"] = [_located(run, root.absolute()) for run in manifest["runs"]]
    blocks = _batched(manifest["runs"])
    with task_runner(small=len(manifest["runs"]) <= IN_PROCESS, dask=dask or {}) as run_tasks:
        rows = _gather(run_tasks(_look, blocks))
        axis = np.unique(np.concatenate([row.iteration for row in rows]))
        names = [name for name in SCALARS if any(name in row.names for row in rows)]
        tasks = [(block, axis, names, RUNS_PER_TASK) for block in blocks]
        with atomic_path(out) as part:
            _write(part, manifest, rows, axis, names, run_tasks(_load, tasks))


def _located(entry: Entry, root: Path) -> Entry:
    """Return an entry whose paths hold in any working directory: tasks may run elsewhere."""
    paths = {name: entry[name] for name in ("path", *OPTIONAL_PATHS)}
    return {**entry, **{name: path and str(root / path) for name, path in paths.items()}}


def _batched(entries: list[Entry]) -> list[list[Entry]]:
    return [entries[k : k + RUNS_PER_TASK] for k in range(0, len(entries), RUNS_PER_TASK)]


def _gather(results: Iterable[tuple[list[Row], list[str]]]) -> list[Row]:
    rows: list[Row] = []
    bad: list[str] = []
    for found, wrong in results:
        rows += found
        bad += wrong
    _refuse(bad)
    return rows


def _refuse(bad: Sequence[str]) -> None:
    if bad:
        listed = "; ".join(bad[:20]) + (f"; and {len(bad) - 20} more" if len(bad) > 20 else "")
        count = "1 trace is bad" if len(bad) == 1 else f"{len(bad)} traces are bad"
        raise UserError(
            f"{count}: {listed}. 'gvibench repair' removes them, then start snakemake again"
        )


def check(entries: list[Entry]) -> dict[str, str]:
    """Return the bad trace files among the given runs and what is wrong with each."""
    bad: dict[str, str] = {}
    for entry in entries:
        try:
            with _opened(entry) as (group, where):
                trace_from_group(group, where)
        except UserError as error:
            bad.setdefault(entry["path"], str(error))
    return bad


# Tasks: plain functions of plain data, so that they run in any process or on a cluster.


@contextlib.contextmanager
def _opened(entry: Entry) -> Iterator[tuple[StoredGroup, str]]:
    """Open the trace of an entry and compare its hashes with those the config expects."""
    name = entry["group"]
    where = entry["path"] if name is None else f"{entry['path']} {name}"
    with open_zip(entry["path"]) as root:
        group = root if name is None else root.group(name)
        attrs = check_attributes(group, where)
        spec = json.loads(attrs["spec"])
        spec |= dict.fromkeys(entry["opened"])
        if hash_values(spec) != entry["spec_hash"]:
            raise UserError(f"{where} is of another run than the config asks for")
        if attrs["code_hash"] != entry["code_hash"]:
            raise UserError(f"{where} was made by other code than there is now")
        yield group, where


def _look(entries: list[Entry]) -> tuple[list[Row], list[str]]:
    """Return what is needed to lay out the dataset, and what is wrong at first sight."""
    rows: list[Row] = []
    bad: list[str] = []
    for entry in entries:
        try:
            with _opened(entry) as (group, _):
                rows.append(Row(group.read("iteration"), tuple(group.names()), group.attrs))
        except UserError as error:
            bad.append(str(error))
    return rows, bad


def _load(task: tuple[list[Entry], np.ndarray, list[str], int]) -> tuple[list[bytes], list[str]]:
    """Read traces in full; return a compressed chunk for every name, and what is wrong."""
    entries, axis, names, chunk_rows = task
    block = np.full((len(names), chunk_rows, len(axis)), np.nan)
    bad: list[str] = []
    for k, entry in enumerate(entries):
        try:
            with _opened(entry) as (group, where):
                trace = trace_from_group(group, where)
        except UserError as error:
            bad.append(str(error))
            continue
        at = np.searchsorted(axis, trace.iteration)
        for j, name in enumerate(names):
            if name in trace.scalars:
                block[j, k, at] = trace.scalars[name]
    zstd = Zstd(level=COMPRESSION_LEVEL)
    return [zstd.encode(values) for values in block], bad


# Writing


def _write(
    path: Path,
    manifest: dict[str, Any],
    rows: list[Row],
    axis: np.ndarray,
    names: list[str],
    blocks: Iterable[tuple[list[bytes], list[str]]],
) -> None:
    entries: list[Entry] = manifest["runs"]
    root = Group(
        {
            "kind": KIND,
            "study": manifest["study"],
            "title": manifest["title"],
            "gap": manifest["gap"],
            "versions": versions(),
        }
    )
    root.put("iteration", axis, ["iteration"], long_name="iteration", units="1")
    optima = _Optima()
    columns = _run_coordinates(entries, rows)
    columns["optimum_note"] = [optima.note(entry) for entry in entries]
    for name, values in columns.items():
        _put_column(root, name, values)
    root.attrs["coordinates"] = " ".join(columns)  # which xarray makes coordinates of
    for name, optimal in _references(entries, optima).items():
        root.put(f"optimum_{name}", optimal, ["run"], long_name=f"{name} at the optimum")
    smoothness = optima.values(entries, "optimum", "smoothness")
    root.put("smoothness", smoothness, ["run"], long_name="largest curvature of the loss")
    _put_paths(root, entries, rows, optima)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in root.members():
            archive.writestr(*member(name, content))
        for name in names:
            long_name, units = SCALARS[name]
            content = chunked_array(
                (len(entries), len(axis)),
                (RUNS_PER_TASK, len(axis)),
                ["run", "iteration"],
                {"name": "zstd", "configuration": {"level": COMPRESSION_LEVEL, "checksum": False}},
                {"long_name": long_name, "units": units},
            )
            archive.writestr(*member(f"{name}/zarr.json", content))
        bad: list[str] = []
        for k, (chunks, wrong) in enumerate(blocks):
            bad += wrong
            for name, chunk in zip(names, chunks, strict=True):
                archive.writestr(*member(f"{name}/c/{k}/0", chunk, compress=False))
    _refuse(bad)


def _put_column(root: Group, name: str, values: list[Any]) -> None:
    """Store numbers as they are, anything else as codes with the list of what they stand for."""
    if all(isinstance(value, bool | int | float) for value in values):
        root.put(name, np.array(values), ["run"], long_name=name.replace("_", " "))
        return
    words = [value if isinstance(value, str) else json.dumps(value) for value in values]
    categories = sorted(set(words))
    codes = np.array([categories.index(word) for word in words], dtype=np.int32)
    root.put(name, codes, ["run"], long_name=name.replace("_", " "), categories=categories)


def _run_coordinates(entries: list[Entry], rows: list[Row]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        "dataset": [entry["dataset"] for entry in entries],
        "solver": [entry["solver"] for entry in entries],
        "seed": [entry["seed"] for entry in entries],
        **_tuning_costs(entries),
    }
    for name in (*LABELS[2:], *ATTRIBUTES, "exclusive", "threads"):
        columns[name] = [row.attrs[name] for row in rows]
    columns |= spec_coordinates([json.loads(row.attrs["spec"]) for row in rows])
    columns["spec"] = [row.attrs["spec"] for row in rows]
    return columns


def _tuning_costs(entries: list[Entry]) -> dict[str, list[Any]]:
    """Return what the tuning stage spent on the choice behind each run, and what to note of it.

    Where nothing was tuned, the numbers are zero and the note is empty.
    """
    none = Choice(0.0, 0.0, None, 0, 0, 0, 0.0)
    found: dict[str | None, Choice] = {None: none}
    beta_notes: dict[str | None, str] = {None: ""}
    for entry in entries:
        path, beta_path = entry["choice"], entry["beta_choice"]
        if path not in found:
            found[path] = read_choice(Path(path))
        if beta_path not in beta_notes:
            beta_notes[beta_path] = read_beta_note(Path(beta_path))
    choices = [found[entry["choice"]] for entry in entries]
    notes = [
        (choice.note, beta_notes[entry["beta_choice"]])
        for choice, entry in zip(choices, entries, strict=True)
    ]
    return {
        "tuned": [entry["choice"] is not None for entry in entries],
        "tuning_trials": [choice.trials for choice in choices],
        "tuning_iterations": [choice.iterations for choice in choices],
        "tuning_seconds": [choice.seconds for choice in choices],
        "tuning_note": ["; ".join(filter(None, pair)) for pair in notes],
    }


def spec_coordinates(specs: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the fields that a figure may need, and every other field that varies as `spec_...`.

    The prefix keeps settings apart from what was measured: `seconds` is both.
    """
    always = ("step", "init_scale", "beta", "gamma", "expectation", "model")
    columns = {name: [spec[name] for spec in specs] for name in always}
    columns["solver_id"] = [spec["solver"] for spec in specs]
    flat = [{**{f"data_{k}": v for k, v in spec["data"].items()}, **spec} for spec in specs]
    elsewhere = {*always, "data", "solver", "seed", "data_dataset"}
    for name in flat[0]:
        values = [spec[name] for spec in flat]
        if name not in elsewhere and len(set(map(json.dumps, values))) > 1:
            columns[f"spec_{name}"] = values
    return columns


class _Optima:
    """The optima of a study, each read once."""

    def __init__(self) -> None:
        self._read: dict[str, Optimum] = {}

    def of(self, entry: Entry, which: str) -> Optimum | None:
        path = entry[which]
        if path is None:
            return None
        if path not in self._read:
            self._read[path] = read_optimum(path)
        return self._read[path]

    def note(self, entry: Entry) -> str:
        """Return why a run has no optimum although one was looked for, or nothing."""
        found = [self.of(entry, which) for which in ("optimum", "exact_optimum")]
        return "; ".join(dict.fromkeys(one.error for one in found if one is not None and one.error))

    def values(self, entries: list[Entry], which: str, name: str) -> np.ndarray:
        """Return one attribute of the optimum of every run; NaN where the study has none."""
        found = [self.of(entry, which) for entry in entries]
        return np.array([np.nan if one is None else one.attrs[name] for one in found])


def _references(entries: list[Entry], optima: _Optima) -> dict[str, np.ndarray]:
    """Return the optimal values per run; NaN where the study has none."""
    found = {name: optima.values(entries, "optimum", name) for name in REFERENCES}
    if any(entry["exact_optimum"] for entry in entries):
        found["objective_exact"] = optima.values(entries, "exact_optimum", "objective")
    return found


def _put_paths(root: Group, entries: list[Entry], rows: list[Row], optima: _Optima) -> None:
    """Add means and factors along the run, and those of the optimum, of runs that kept them.

    Everything is as large as the largest problem needs; what a run does not have is NaN.
    """
    kept = [k for k, row in enumerate(rows) if PATH in row.names]
    if not kept:
        return
    paths = {k: _read_path(entries[k]) for k in kept}
    axis = np.unique(np.concatenate([path.snapshot for path in paths.values()]))
    size = max(path.mean.shape[1] for path in paths.values())
    count = len(entries)
    mean = np.full((count, len(axis), size), np.nan)
    factor = np.full((count, len(axis), size, size), np.nan)
    best_mean = np.full((count, size), np.nan)
    best_factor = np.full((count, size, size), np.nan)
    for k, path in paths.items():
        d = path.mean.shape[1]
        at = np.searchsorted(axis, path.snapshot)
        mean[k, at, :d] = path.mean
        factor[k, at, :d, :d] = path.factor
        optimum = optima.of(entries[k], "optimum")
        if optimum is not None and optimum.covariance_factor is not None:
            best_mean[k, :d] = optimum.mean
            best_factor[k, :d, :d] = optimum.covariance_factor
    square = ["feature", "feature_"]
    root.put("snapshot", axis, ["snapshot"], long_name="iteration of a kept iterate")
    root.put("path_mean", mean, ["run", "snapshot", "feature"], long_name="mean of q")
    root.put(
        "path_covariance_factor", factor, ["run", "snapshot", *square], long_name="factor of q"
    )
    root.put("optimum_mean", best_mean, ["run", "feature"], long_name="optimal mean")
    root.put("optimum_covariance_factor", best_factor, ["run", *square], long_name="optimal factor")


class _Path(NamedTuple):
    snapshot: np.ndarray
    mean: np.ndarray
    factor: np.ndarray


def _read_path(entry: Entry) -> _Path:
    with _opened(entry) as (group, _):
        return _Path(group.read("snapshot"), group.read("mean"), group.read(PATH))
