"""Build the coordinates and reference values of an aggregate."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gvibench.store.choices import Choice, read_beta_note, read_choice
from gvibench.store.manifest import ManifestRow, open_verified
from gvibench.store.optima import Optimum, read_optimum
from gvibench.store.zarrzip import Group

__all__ = [
    "Header",
    "Optima",
    "put_paths",
    "reference_values",
    "run_coordinates",
    "spec_coordinates",
]

REFERENCES = ("objective", "neg_elbo", "train_elbo_paper", "test_nll", "test_accuracy")
"""Metrics whose values at the optimum of the objective are stored."""
ATTRIBUTES = (
    *("status", "reason", "spec_hash", "code_hash", "device", "host"),
    *("n_train", "n_test", "d", "iterations_done", "step_used"),
    *("wall_seconds", "cpu_seconds", "warmup_seconds", "exclusive", "threads"),
)
"""Attributes of traces that become coordinates."""
FACTOR_PATH = "covariance_factor_path"


@dataclass(frozen=True)
class Header:
    """Contents of a trace without its curves."""

    iteration: np.ndarray
    names: tuple[str, ...]
    """Names of the variables of the trace."""
    attrs: dict[str, Any]


def run_coordinates(rows: list[ManifestRow], headers: list[Header]) -> dict[str, list[Any]]:
    """Return the coordinates along `run`, by name."""
    columns: dict[str, list[Any]] = {
        "dataset": [row["dataset"] for row in rows],
        "solver": [row["solver"] for row in rows],
        "seed": [row["seed"] for row in rows],
        **_tuning_costs(rows),
    }
    for name in ATTRIBUTES:
        columns[name] = [header.attrs[name] for header in headers]
    columns |= spec_coordinates([json.loads(header.attrs["spec"]) for header in headers])
    columns["spec"] = [header.attrs["spec"] for header in headers]
    return columns


def _tuning_costs(rows: list[ManifestRow]) -> dict[str, list[Any]]:
    """Return the tuning cost of each run and the notes on its choices.

    For runs without tuning, the numbers are zero and the note is empty.
    """
    untuned = Choice(0.0, 0.0, None, 0, 0, 0, 0.0)
    choice_at: dict[str | None, Choice] = {None: untuned}
    beta_note_at: dict[str | None, str] = {None: ""}
    for row in rows:
        path, beta_path = row["choice"], row["beta_choice"]
        if path not in choice_at:
            choice_at[path] = read_choice(Path(path))
        if beta_path not in beta_note_at:
            beta_note_at[beta_path] = read_beta_note(Path(beta_path))
    choices = [choice_at[row["choice"]] for row in rows]
    beta_notes = [beta_note_at[row["beta_choice"]] for row in rows]
    return {
        "tuned": [row["choice"] is not None for row in rows],
        "tuning_trials": [choice.trials for choice in choices],
        "tuning_iterations": [choice.iterations for choice in choices],
        "tuning_seconds": [choice.seconds for choice in choices],
        "tuning_note": [
            "; ".join(filter(None, (choice.note, beta_note)))
            for choice, beta_note in zip(choices, beta_notes, strict=True)
        ],
    }


def spec_coordinates(specs: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the fields that figures use, and all other fields that vary as `spec_<field>`.

    The prefix separates settings from measurements. For example, `seconds` is both.
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


class Optima:
    """Cache for the optima of a study. Each file is read once."""

    def __init__(self) -> None:
        self._by_path: dict[str, Optimum] = {}

    def of(self, row: ManifestRow, which: str = "optimum") -> Optimum | None:
        """Return the optimum of a run, or None if the study has no optimum for it."""
        path = row[which]
        if path is None:
            return None
        if path not in self._by_path:
            self._by_path[path] = read_optimum(path)
        return self._by_path[path]

    def note(self, row: ManifestRow) -> str:
        """Return the reason why no optimum of a run was found, or an empty string."""
        optima = [self.of(row, which) for which in ("optimum", "exact_optimum")]
        errors = [optimum.error for optimum in optima if optimum is not None and optimum.error]
        return "; ".join(dict.fromkeys(errors))

    def values(self, rows: list[ManifestRow], name: str, which: str = "optimum") -> np.ndarray:
        """Return an attribute of the optimum of each run, or NaN for runs without an optimum."""
        optima = [self.of(row, which) for row in rows]
        return np.array([np.nan if optimum is None else optimum.attrs[name] for optimum in optima])


def reference_values(rows: list[ManifestRow], optima: Optima) -> dict[str, np.ndarray]:
    """Return the metrics at the optimum of each run, or NaN for runs without an optimum."""
    values = {name: optima.values(rows, name) for name in REFERENCES}
    if any(row["exact_optimum"] for row in rows):
        values["objective_exact"] = optima.values(rows, "objective", "exact_optimum")
    return values


def put_paths(root: Group, rows: list[ManifestRow], headers: list[Header], optima: Optima) -> None:
    """Add the stored means and factors of all runs, and the means and factors of their optima.

    Arrays have the size of the largest problem. Missing values are NaN.
    """
    stored = [k for k, header in enumerate(headers) if FACTOR_PATH in header.names]
    if not stored:
        return
    paths = {k: _read_path(rows[k]) for k in stored}
    axis = np.unique(np.concatenate([path.snapshot for path in paths.values()]))
    size = max(path.mean.shape[1] for path in paths.values())
    count = len(rows)
    mean = np.full((count, len(axis), size), np.nan)
    factor = np.full((count, len(axis), size, size), np.nan)
    best_mean = np.full((count, size), np.nan)
    best_factor = np.full((count, size, size), np.nan)
    for k, path in paths.items():
        d = path.mean.shape[1]
        at = np.searchsorted(axis, path.snapshot)
        mean[k, at, :d] = path.mean
        factor[k, at, :d, :d] = path.factor
        optimum = optima.of(rows[k])
        if optimum is not None and optimum.covariance_factor is not None:
            best_mean[k, :d] = optimum.mean
            best_factor[k, :d, :d] = optimum.covariance_factor
    square = ["feature", "feature_"]
    along = ["run", "snapshot"]
    root.put("snapshot", axis, ["snapshot"], long_name="iteration of a stored iterate")
    root.put("path_mean", mean, [*along, "feature"], long_name="mean of q")
    root.put("path_covariance_factor", factor, [*along, *square], long_name="factor of q")
    root.put("optimum_mean", best_mean, ["run", "feature"], long_name="optimal mean")
    root.put("optimum_covariance_factor", best_factor, ["run", *square], long_name="optimal factor")


class _Path(NamedTuple):
    snapshot: np.ndarray
    mean: np.ndarray
    factor: np.ndarray


def _read_path(row: ManifestRow) -> _Path:
    with open_verified(row) as (group, _):
        return _Path(group.read("snapshot"), group.read("mean"), group.read(FACTOR_PATH))
