"""Build the coordinates and reference values of an aggregate, one value per run."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gvibench.store.choices import Choice, read_beta_note, read_choice
from gvibench.store.manifest import ManifestRow
from gvibench.store.optima import Optimum, read_optimum
from gvibench.store.traces import Trace

__all__ = ["FACTOR_PATH", "RunColumns", "StudyFiles", "reference_values", "run_coordinates"]

REFERENCES = ("objective", "neg_elbo", "train_elbo_paper", "test_nll", "test_accuracy")
"""Metrics whose values at the optimum of the objective are stored."""
ATTRIBUTES = (
    *("status", "reason", "spec_hash", "code_hash", "device", "host"),
    *("n_train", "n_test", "d", "iterations_done", "step_used"),
    *("rejected_steps", "screened_steps", "indefinite_steps"),
    *("wall_seconds", "cpu_seconds", "warmup_seconds", "exclusive", "threads"),
)
"""Attributes of traces that become coordinates."""
FACTOR_PATH = "covariance_factor_path"
SNAPSHOTS = "snapshots"
"""Column with the number of stored covariances."""

Column = tuple[str, np.ndarray] | tuple[str, np.ndarray, dict[str, str]]
"""Dimension, values and attributes of a coordinate."""


@dataclass(frozen=True)
class RunColumns:
    """Everything of traces that is not a curve."""

    values: dict[str, np.ndarray]
    """Attributes by name, one value per run."""
    settings: list[str]
    """Distinct specs without their seeds, as JSON."""
    setting_of_run: np.ndarray
    """Position in `settings` for each run."""

    @classmethod
    def of(cls, traces: Sequence[Trace]) -> "RunColumns":
        """Return the columns of traces."""
        texts = [json.dumps({**trace.spec, "seed": None}, sort_keys=True) for trace in traces]
        settings = list(dict.fromkeys(texts))
        position = {text: k for k, text in enumerate(settings)}
        values = {name: _column([trace.attrs[name] for trace in traces]) for name in ATTRIBUTES}
        values[SNAPSHOTS] = np.array([len(t.factors.get(FACTOR_PATH, ())) for t in traces])
        return cls(values, settings, np.array([position[text] for text in texts]))

    @classmethod
    def concatenated(cls, parts: Sequence["RunColumns"]) -> "RunColumns":
        """Return the columns of several shards as one."""
        settings = list(dict.fromkeys(text for part in parts for text in part.settings))
        position = {text: k for k, text in enumerate(settings)}
        codes = [
            np.array([position[text] for text in part.settings])[part.setting_of_run]
            for part in parts
        ]
        names = list(parts[0].values)
        values = {name: np.concatenate([part.values[name] for part in parts]) for name in names}
        return cls(values, settings, np.concatenate(codes))


def run_coordinates(
    rows: Sequence[ManifestRow], columns: RunColumns, files: "StudyFiles"
) -> dict[str, Column]:
    """Return the coordinates by name.

    `configuration_index` is the position of a run's configuration in `spec`: a data set, a solver
    and all settings except the seed.
    """
    keys = [
        (row["dataset"], row["solver"], row["choice"] is not None, code)
        for row, code in zip(rows, columns.setting_of_run.tolist(), strict=True)
    ]
    configurations = list(dict.fromkeys(keys))
    position = {key: k for k, key in enumerate(configurations)}
    specs = _column([columns.settings[code] for *_, code in configurations])
    by_run = {
        "dataset": _column([row["dataset"] for row in rows]),
        "solver": _column([row["solver"] for row in rows]),
        "seed": _column([row["seed"] for row in rows]),
        "configuration_index": np.array([position[key] for key in keys]),
        **_tuning_costs(rows, files),
        **{name: values for name, values in columns.values.items() if name != SNAPSHOTS},
        **_spec_columns(columns),
        "optimum_note": _column([files.optimum_note(row) for row in rows]),
    }
    coordinates: dict[str, Column] = {
        name: ("run", values, {"long_name": name.replace("_", " ")})
        for name, values in by_run.items()
    }
    long_name = "spec of each configuration as JSON, without a seed"
    coordinates["spec"] = ("configuration", specs, {"long_name": long_name})
    return coordinates


def _column(values: Sequence[Any]) -> np.ndarray:
    """Return numbers as they are, and everything else as text."""
    if all(isinstance(value, bool | int | float) for value in values):
        return np.array(values)
    known: dict[str, str] = {}  # equal texts share their memory
    words = (value if isinstance(value, str) else json.dumps(value) for value in values)
    return np.array([known.setdefault(word, word) for word in words], dtype=object)


def _tuning_costs(rows: Sequence[ManifestRow], files: "StudyFiles") -> dict[str, np.ndarray]:
    """Return the tuning cost of each run and the notes on its choices.

    For runs without tuning, the numbers are zero and the note is empty.
    """
    choices = [files.choice(row) for row in rows]
    notes = [
        "; ".join(filter(None, (choice.note, files.beta_note(row))))
        for choice, row in zip(choices, rows, strict=True)
    ]
    return {
        "tuned": np.array([row["choice"] is not None for row in rows]),
        "tuned_scale": np.array(["init_scale" in row["tuned_fields"] for row in rows]),
        "tuning_trials": np.array([choice.trials for choice in choices]),
        "tuning_iterations": np.array([choice.iterations for choice in choices]),
        "tuning_seconds": np.array([choice.seconds for choice in choices]),
        "tuning_note": _column(notes),
    }


def _spec_columns(columns: RunColumns) -> dict[str, np.ndarray]:
    """Return the fields that figures use, and all other fields that vary as `spec_<field>`.

    The prefix separates settings from measurements. For example, `seconds` is both.
    """
    always = ("step", "step_rule", "init_scale", "beta", "gamma", "expectation", "model")
    elsewhere = {*always, "data", "solver", "seed", "data_dataset"}
    first = _flat_spec(columns.settings[0])
    # Texts are parsed twice, because all fields of all specs would need much memory.
    varied = {
        name
        for text in columns.settings
        for name, value in _flat_spec(text).items()
        if name not in elsewhere and value != first[name]
    }
    names = [*always, "solver", *(name for name in first if name in varied)]
    values: dict[str, list[Any]] = {name: [] for name in names}
    for text in columns.settings:
        spec = _flat_spec(text)
        for name in names:
            values[name].append(spec[name])
    result = {name: _column(values.pop(name)) for name in always}
    result["solver_id"] = _column(values.pop("solver"))
    result |= {f"spec_{name}": _column(listed) for name, listed in values.items()}
    return {name: column[columns.setting_of_run] for name, column in result.items()}


def _flat_spec(text: str) -> dict[str, Any]:
    spec = json.loads(text)
    return {**{f"data_{name}": value for name, value in spec["data"].items()}, **spec}


class StudyFiles:
    """Cache for the optima and choices of a study. Each file is read once.

    Parameters
    ----------
    root
        Folder that the paths in the manifest are relative to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._contents: dict[str, Any] = {}

    def optimum(self, row: ManifestRow, which: str = "optimum") -> Optimum | None:
        """Return the optimum of a run, or None if the study has no optimum for it."""
        found: Optimum | None = self._read(row[which], read_optimum, None)
        return found

    def choice(self, row: ManifestRow) -> Choice:
        """Return the choice of a tuned run, or a choice without any cost."""
        choice: Choice = self._read(row["choice"], read_choice, UNTUNED)
        return choice

    def beta_note(self, row: ManifestRow) -> str:
        """Return the note on the choice of beta, or an empty string."""
        note: str = self._read(row["beta_choice"], read_beta_note, "")
        return note

    def _read(self, path: str | None, read: Callable[[Path], Any], default: Any) -> Any:
        if path is None:
            return default
        if path not in self._contents:
            self._contents[path] = read(self.root / path)
        return self._contents[path]

    def optimum_note(self, row: ManifestRow) -> str:
        """Return the reason why no optimum of a run was found, or an empty string."""
        optima = [self.optimum(row, which) for which in ("optimum", "exact_optimum")]
        errors = [optimum.error for optimum in optima if optimum is not None and optimum.error]
        return "; ".join(dict.fromkeys(errors))

    def optimal_values(
        self, rows: Sequence[ManifestRow], name: str, which: str = "optimum"
    ) -> np.ndarray:
        """Return an attribute of the optimum of each run, or NaN for runs without an optimum."""
        optima = [self.optimum(row, which) for row in rows]
        return np.array([np.nan if optimum is None else optimum.attrs[name] for optimum in optima])


UNTUNED = Choice(0.0, 0.0, None, 0, 0, 0, 0.0)


def reference_values(rows: Sequence[ManifestRow], files: StudyFiles) -> dict[str, np.ndarray]:
    """Return the metrics at the optimum of each run, or NaN for runs without an optimum."""
    values = {name: files.optimal_values(rows, name) for name in REFERENCES}
    if any(row["exact_optimum"] for row in rows):
        values["objective_exact"] = files.optimal_values(rows, "objective", "exact_optimum")
    return values
