"""Read and validate trace folders, in which any library submits its runs to the benchmark.

`docs/benchmark/trace-format.md` describes the format.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.errors import UserError, suggest
from gvibench.store.problem_folders import (
    TRACKS,
    Instance,
    read_arrays,
    read_mapping,
    text_of,
)

__all__ = ["Card", "InstanceTrace", "read_card", "read_trace", "trace_files"]

Floats = NDArray[np.float64]

TEXTS = ("name", "version", "track", "league", "cost", "search_space", "licence", "authors")
"""Keys that each card has."""
FLAGS = ("other_divergence", "replaces_start")
LEAGUES = ("untuned", "tuned")
STATUSES = ("completed", "diverged", "failed")
RECORDS = ("cost", "seconds", "mean", "covariance_factor")
ARRAYS = (*RECORDS, "objective", "status", "reason")
MAX_NAME = 60
"""Maximum length of the name of a submission, which tables and figures show."""
MAX_TRIALS = 8
"""Maximum number of tuning trials per problem and search."""
START_TOLERANCE = 1e-9
"""Maximum relative difference between the first record and the given start."""
ADVICE = "write the file again as docs/benchmark/trace-format.md describes"


@dataclass(frozen=True)
class Card:
    """Description of a submission."""

    name: str
    version: str
    track: str
    """Information that the solver uses: A, B or C."""
    league: str
    cost: str
    """What was counted, in one sentence."""
    search_space: str
    licence: str
    authors: str
    trials: int | None = None
    """Number of tuning trials per problem and search."""
    other_divergence: bool = False
    """Whether the solver minimises another divergence than the objective."""
    replaces_start: bool = False
    """Whether the first record need not be the given start."""


@dataclass(frozen=True)
class InstanceTrace:
    """Records of one run, along the first axis of each array."""

    instance: str
    cost: Floats
    """Data passes so far."""
    seconds: Floats
    mean: Floats
    covariance_factor: Floats
    """Lower triangular C with V = C C'."""
    objective: Floats
    """Objective as the library claims it. NaN if it does not compute it."""
    status: str
    reason: str


def trace_files(folder: Path, instances: Collection[str]) -> dict[str, Path]:
    """Return the trace file of each instance that has one, in the order of the instances."""
    for path in sorted(folder.glob("*.npz")):
        if path.stem not in instances:
            raise UserError(
                f"{path}: the track has no instance '{path.stem}'{suggest(path.stem, instances)}: "
                "rename or remove the file"
            )
    files = {name: folder / f"{name}.npz" for name in instances}
    present = {name: path for name, path in files.items() if path.is_file()}
    if not present:
        raise UserError(f"{folder} has no traces: write one file PROBLEM.BASIS.START.npz per run")
    return present


def read_card(folder: str | os.PathLike[str]) -> Card:
    """Read and validate the card of a submission."""
    path = Path(folder) / "card.json"
    values = read_mapping(path, ADVICE)
    known = (*TEXTS, *FLAGS, "trials")
    for key in values:
        if key not in known:
            raise UserError(f"{path}: unknown key '{key}'{suggest(key, known)}: remove it")
    for key in TEXTS:
        if key not in values:
            raise UserError(f"{path}: the key '{key}' is missing: add it")
        if not (isinstance(values[key], str) and values[key].strip()):
            raise UserError(f"{path}: '{key}' is not a text, or it is empty: {ADVICE}")
    if len(values["name"]) > MAX_NAME or not values["name"].isprintable() or "$" in values["name"]:
        raise UserError(
            f"{path}: 'name' is {values['name']!r}: use one line of at most {MAX_NAME} characters "
            "without $"
        )
    for key, allowed in (("track", TRACKS), ("league", LEAGUES)):
        if values[key] not in allowed:
            raise UserError(
                f"{path}: '{key}' is '{values[key]}': choose one of {', '.join(allowed)}"
            )
    for key in FLAGS:
        if not isinstance(values.get(key, False), bool):
            raise UserError(f"{path}: '{key}' is neither true nor false: {ADVICE}")
    trials = values.get("trials")
    is_count = isinstance(trials, int) and not isinstance(trials, bool)
    if not (trials is None or (is_count and 0 <= trials <= MAX_TRIALS)):
        raise UserError(f"{path}: 'trials' is not a number from 0 to {MAX_TRIALS}: {ADVICE}")
    if values["league"] == "tuned" and trials is None:
        raise UserError(f"{path}: the league is 'tuned' but 'trials' is missing: add it")
    return Card(**values)


def read_trace(path: Path, card: Card, instance: Instance) -> InstanceTrace:
    """Read and validate the trace of one instance."""
    arrays = read_arrays(path, ARRAYS, (*RECORDS, "status", "reason"), ADVICE)
    status = text_of(path, "status", arrays.pop("status"), ADVICE)
    reason = text_of(path, "reason", arrays.pop("reason"), ADVICE)
    if status not in STATUSES:
        raise UserError(f"{path}: 'status' is '{status}': choose one of {', '.join(STATUSES)}")
    if status != "completed" and not reason.strip():
        raise UserError(f"{path}: the status is '{status}' but 'reason' is empty: state the reason")
    floats = _floats(path, arrays, instance.dimension)
    count = len(floats["cost"])
    if count == 0 and status != "failed":
        raise UserError(f"{path}: there are no records: write at least one")
    _require_order(path, floats)
    _require_factors(path, floats["covariance_factor"])
    if count and not card.replaces_start:
        _require_start(path, floats, instance)
    floats["objective"] = _objective(path, floats.pop("objective", None), card, count)
    return InstanceTrace(instance=instance.name, **floats, status=status, reason=reason)


def _floats(path: Path, arrays: Mapping[str, NDArray[Any]], d: int) -> dict[str, Floats]:
    """Return the records as floats after a check of shapes and types."""
    count = len(arrays["cost"]) if arrays["cost"].ndim else 0
    ends = {"mean": (d,), "covariance_factor": (d, d)}
    floats = {}
    for name, values in arrays.items():
        shape = (count, *ends.get(name, ()))
        if values.shape != shape:
            raise UserError(
                f"{path}: '{name}' has shape {values.shape} instead of {shape}, for {count} "
                f"records of {d} coefficients: {ADVICE}"
            )
        if values.dtype.kind not in "fiu":
            raise UserError(f"{path}: '{name}' has type {values.dtype}: write float64")
        floats[name] = np.asarray(values, np.float64)
        if name != "objective" and not np.isfinite(floats[name]).all():
            bad = np.flatnonzero(~np.isfinite(floats[name]).reshape(count, -1).all(axis=1))[0]
            raise UserError(
                f"{path}: '{name}' is not finite at record {bad}: end the records before it and "
                "set status 'diverged'"
            )
    return floats


def _require_order(path: Path, floats: Mapping[str, Floats]) -> None:
    for name in ("cost", "seconds"):
        values = floats[name]
        if (values < 0).any():
            raise UserError(
                f"{path}: '{name}' is negative at record {np.flatnonzero(values < 0)[0]}: {ADVICE}"
            )
        if (falls := np.flatnonzero(np.diff(values) < 0)).size:
            k = falls[0]
            raise UserError(
                f"{path}: '{name}' decreases from {values[k]:.17g} to {values[k + 1]:.17g} at "
                f"record {k + 1}: count all work since the start of the run"
            )


def _require_factors(path: Path, factors: Floats) -> None:
    for k, factor in enumerate(factors):
        if np.triu(factor, 1).any():
            raise UserError(
                f"{path}: 'covariance_factor' is not lower triangular at record {k}: write the "
                "Cholesky factor of the covariance"
            )
        if not np.diagonal(factor).all():
            raise UserError(
                f"{path}: 'covariance_factor' has a zero on its diagonal at record {k}: end the "
                "records before it and set status 'diverged'"
            )


def _require_start(path: Path, floats: Mapping[str, Floats], instance: Instance) -> None:
    factor = floats["covariance_factor"][0]
    # The signs of the columns do not change the covariance.
    factor = factor * np.sign(np.diagonal(factor) * np.diagonal(instance.factor0))
    pairs = {"mean": (floats["mean"][0], instance.mean0)}
    pairs["covariance_factor"] = factor, instance.factor0
    for name, (given, start) in pairs.items():
        size = max(1e-300, float(np.abs(start).max(initial=0.0)))
        difference = float(np.abs(given - start).max(initial=0.0))
        if difference > START_TOLERANCE * size:
            raise UserError(
                f"{path}: '{name}' of record 0 differs from the given start by {difference:.3g}: "
                "record the start first, or set 'replaces_start' in card.json"
            )


def _objective(path: Path, values: Floats | None, card: Card, count: int) -> Floats:
    """Return the claimed objective, with NaN where the library does not compute it."""
    if values is None:
        values = np.full(count, np.nan)
    if card.track == "A" and np.isnan(values).any():
        raise UserError(
            f"{path}: 'objective' is missing at record {np.flatnonzero(np.isnan(values))[0]}: "
            "write it for all records, because it is required in track A"
        )
    if (lowest := np.flatnonzero(values == -np.inf)).size:
        raise UserError(f"{path}: 'objective' is -inf at record {lowest[0]}: {ADVICE}")
    return values
