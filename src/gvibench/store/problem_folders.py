"""Read and write problem folders, which hold benchmark problems as plain arrays.

`docs/benchmark/trace-format.md` describes the format.
"""

import json
import math
import os
import zipfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError, one_sentence, suggest
from gvibench.store.files import atomic_path

__all__ = [
    "TRACKS",
    "Instance",
    "ProblemFolder",
    "open_problems",
    "read_arrays",
    "read_mapping",
    "text_of",
    "write_problems",
]

Floats = NDArray[np.float64]

INDEX = "problems.json"
TRACKS = ("A", "B", "C")
"""Tracks: exact expectations, gradients at draws, and minibatches."""
MODELS = ("logistic", "probit", "poisson")
ARRAYS = (
    *("rows", "y", "precision", "mean0", "factor0", "model", "gamma", "optimum"),
    *("held_out_rows", "held_out_y"),
)
ADVICE = "export the problem folder again"
MAX_SIZE = 1_000_000_000
"""Maximum size of the arrays of a file in bytes. 60 records in 73 dimensions have 3 MB."""


@dataclass(frozen=True)
class Instance:
    """A problem in one basis with one start. The prior is N(0, P^{-1})."""

    name: str
    """`PROBLEM.BASIS.START`, e.g. `sonar.affine.prior`."""
    model: str
    rows: Floats
    y: Floats
    precision: Floats
    """Precision P of the prior."""
    mean0: Floats
    factor0: Floats
    """Lower triangular root C of the covariance at the start."""
    optimum: float
    """Certified minimum of the objective."""
    held_out_rows: Floats
    """Rows for tuning trials, which are not training rows."""
    held_out_y: Floats
    gamma: float = 1.0

    @property
    def dimension(self) -> int:
        """Number of coefficients."""
        return int(self.rows.shape[1])


@dataclass(frozen=True)
class ProblemFolder:
    """Index of a problem folder. Instances are read one at a time."""

    path: Path
    release: str
    budgets: Mapping[str, float]
    """Maximum cost in data passes, by track."""
    targets: Mapping[str, tuple[float, ...]]
    """Gaps to reach, by track."""
    instances: Mapping[str, tuple[str, ...]]
    """Names of the instances, by track."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the instances of all tracks."""
        return tuple(dict.fromkeys(name for track in TRACKS for name in self.instances[track]))

    def read(self, name: str) -> Instance:
        """Read one instance."""
        if name not in self.names:
            raise UserError(
                f"release {self.release} has no instance '{name}'{suggest(name, self.names)}: "
                f"use a name from {self.path / INDEX}"
            )
        return _read_instance(self.path / f"{name}.npz", name)


def open_problems(folder: str | os.PathLike[str]) -> ProblemFolder:
    """Read and validate the index of a problem folder."""
    path = Path(folder) / INDEX
    values = read_mapping(path, ADVICE)
    release = values.get("release")
    if not (isinstance(release, str) and release):
        raise UserError(f"{path}: 'release' is not a text: {ADVICE}")
    budgets, targets = _by_track(path, values, "budgets"), _by_track(path, values, "targets")
    instances = _by_track(path, values, "instances")
    for track in TRACKS:
        if not (_is_positive(budgets[track])):
            raise UserError(f"{path}: 'budgets' of track {track} is not a positive number")
        if not (isinstance(targets[track], list) and all(map(_is_positive, targets[track]))):
            raise UserError(f"{path}: 'targets' of track {track} is not a list of positive numbers")
        if not (isinstance(instances[track], list) and all(map(_is_name, instances[track]))):
            raise UserError(
                f"{path}: 'instances' of track {track} is not a list of PROBLEM.BASIS.START: "
                f"{ADVICE}"
            )
    return ProblemFolder(
        path.parent,
        release,
        {track: float(budgets[track]) for track in TRACKS},
        {track: tuple(map(float, targets[track])) for track in TRACKS},
        {track: tuple(instances[track]) for track in TRACKS},
    )


def write_problems(
    folder: str | os.PathLike[str],
    instances: Iterable[Instance],
    *,
    release: str,
    budgets: Mapping[str, float],
    targets: Mapping[str, Collection[float]],
    tracks: Mapping[str, Collection[str]],
) -> ProblemFolder:
    """Write a problem folder.

    Parameters
    ----------
    folder
        Folder to write.
    instances
        Instances, which may come from a generator.
    release
        Name of the release of the benchmark.
    budgets, targets, tracks
        Maximum cost, targets, and names of the instances, by track. Names of instances that are not
        given are left out.
    """
    folder = Path(folder)
    names = []
    for instance in instances:
        names.append(instance.name)
        arrays = {name: np.asarray(getattr(instance, name)) for name in ARRAYS}
        with atomic_path(folder / f"{instance.name}.npz") as part, part.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
    index = {
        "release": release,
        "budgets": dict(budgets),
        "targets": {track: list(values) for track, values in targets.items()},
        "instances": {
            track: [name for name in names if name in listed] for track, listed in tracks.items()
        },
    }
    with atomic_path(folder / INDEX) as part:
        part.write_text(json.dumps(index, indent=1) + "\n")
    return open_problems(folder)


def read_mapping(path: Path, advice: str) -> dict[str, Any]:
    """Read a JSON file that contains a mapping."""
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read ({one_sentence(error)}): {advice}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} is not a mapping: {advice}")
    return values


def read_arrays(
    path: Path, known: Collection[str], required: Collection[str], advice: str
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an .npz file, all of which have known names."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} cannot be read ({one_sentence(error)}): {advice}") from error
    if size > MAX_SIZE:
        raise UserError(
            f"{path} has {size / 1e9:.1f} GB of arrays, more than {MAX_SIZE / 1e9:g} GB: {advice}"
        )
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            names = list(file)
            arrays = {name: np.asarray(file[name]) for name in names if name in known}
    except Exception as error:  # NumPy, zipfile and zlib raise many types for corrupt files
        raise UserError(f"{path} cannot be read ({one_sentence(error)}): {advice}") from error
    for name in names:
        if name not in known:
            raise UserError(f"{path}: unknown array '{name}'{suggest(name, known)}: remove it")
    for name in required:
        if name not in arrays:
            raise UserError(f"{path}: no array '{name}': {advice}")
    return arrays


def text_of(path: Path, name: str, array: NDArray[Any], advice: str) -> str:
    """Return the text in an array without axes."""
    if array.shape or array.dtype.kind != "U":
        raise UserError(
            f"{path}: '{name}' is not a text but has shape {array.shape} and type {array.dtype}: "
            f"{advice}"
        )
    return str(array)


def _read_instance(path: Path, name: str) -> Instance:
    arrays = read_arrays(path, ARRAYS, ARRAYS, ADVICE)
    model = text_of(path, "model", arrays.pop("model"), ADVICE)
    if model not in MODELS:
        raise UserError(f"{path}: unknown model '{model}'{suggest(model, MODELS)}: {ADVICE}")
    n, d = arrays["rows"].shape if arrays["rows"].ndim == 2 else (0, 0)
    count = len(arrays["held_out_rows"]) if arrays["held_out_rows"].ndim else 0
    shapes = {"rows": (n, d), "y": (n,), "precision": (d, d), "mean0": (d,), "factor0": (d, d)}
    shapes |= {"held_out_rows": (count, d), "held_out_y": (count,)}
    for key, values in arrays.items():
        if values.shape != shapes.get(key, ()) or values.dtype.kind not in "fiu":
            raise UserError(
                f"{path}: '{key}' has shape {values.shape} and type {values.dtype} instead of "
                f"numbers with shape {shapes.get(key, ())}: {ADVICE}"
            )
        if not np.isfinite(values).all():
            raise UserError(f"{path}: '{key}' is not finite: {ADVICE}")
    optimum, gamma = float(arrays.pop("optimum")), float(arrays.pop("gamma"))
    floats = {key: np.asarray(values, np.float64) for key, values in arrays.items()}
    return Instance(name=name, model=model, optimum=optimum, gamma=gamma, **floats)


def _by_track(path: Path, values: Mapping[str, Any], name: str) -> dict[str, Any]:
    entry = values.get(name)
    if not (isinstance(entry, dict) and set(TRACKS) <= entry.keys()):
        raise UserError(f"{path}: '{name}' does not have the tracks A, B and C: {ADVICE}")
    return entry


def _is_name(value: Any) -> bool:
    """Return whether a value is a name of an instance, which is also a safe file name."""
    if not isinstance(value, str) or not value.isascii():
        return False
    parts = value.split(".")
    return len(parts) == 3 and all(
        part.replace("-", "").replace("_", "").isalnum() for part in parts
    )


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 < value < math.inf
