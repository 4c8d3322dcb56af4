"""Gather the measures of Gaussians along the dimension `gaussian` of an aggregate.

The coordinates `gaussian_configuration` and `gaussian_seed` name the run of a Gaussian. For the
optimum, `gaussian_kind` is `optimum`, the seed is -1, and the configuration is any of its problem.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from gvibench.spec.measures import BINS, MEASURES, OPTIMUM, TEXTS
from gvibench.store.measures import Measures, read_measures

__all__ = ["read_all_measures"]

NO_SEED = -1


def read_all_measures(
    manifest: Mapping[str, Any], root: Path, configuration: np.ndarray
) -> dict[str, xr.Variable]:
    """Return the variables by name, empty if the study measures no Gaussians.

    Parameters
    ----------
    manifest
        Manifest of the study.
    root
        Folder that its paths are relative to.
    configuration
        Position of the configuration of each run.
    """
    found = list(_gaussians(manifest, root, configuration))
    if not found:
        return {}
    results = [result for _, _, result in found]
    columns: dict[str, Any] = {
        "gaussian_configuration": [index for index, _, _ in found],
        "gaussian_kind": [kind for _, kind, _ in found],
        "gaussian_seed": [NO_SEED if r["seed"] is None else r["seed"] for r in results],
        "gaussian_notes": [json.dumps(result["notes"], sort_keys=True) for result in results],
        **{f"measure_{name}": [result[name] for result in results] for name in MEASURES},
        **{f"measure_{name}": [result[name] for result in results] for name in TEXTS},
    }
    variables = {
        name: xr.Variable("gaussian", _array(values), {"long_name": name.replace("_", " ")})
        for name, values in columns.items()
    }
    for name in BINS:
        bins = np.full((len(results), max(len(result[name]) for result in results)), np.nan)
        for row, result in zip(bins, results, strict=True):
            row[: len(result[name])] = result[name]
        labels = {"long_name": name.replace("_", " ")}
        variables[f"measure_{name}"] = xr.Variable(("gaussian", "bin"), bins, labels)
    return variables


def _gaussians(
    manifest: Mapping[str, Any], root: Path, configuration: np.ndarray
) -> Iterator[tuple[int, str, Measures]]:
    """Yield the configuration, the kind and the measures of each Gaussian."""
    by_run: dict[tuple[str, int], int] = {}
    by_optimum: dict[str | None, int] = {}
    for index, row in zip(configuration.tolist(), manifest["runs"], strict=True):
        by_run[row["path"], row["seed"]] = index
        by_optimum.setdefault(row["exact_optimum"] or row["optimum"], index)
    for job in manifest.get("measures", ()):
        for result in read_measures(root / job["path"], job["code_hash"]):
            if job["run"] is None:
                yield by_optimum[job["optimum"]], OPTIMUM, result
            else:
                yield by_run[job["run"], result["seed"]], "run", result


def _array(values: list[Any]) -> np.ndarray:
    return np.array(values, dtype=object if isinstance(values[0], str) else None)
