"""What is behind a figure: specs, hashes and versions, for the JSON file beside it."""

import json
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import xarray as xr

from gvibench.analysis.configurations import Configuration, configurations

__all__ = ["describe"]

PER_RUN = ("seed", "spec_hash", "code_hash", "status")


def describe(
    job: dict[str, Any], dataset: xr.Dataset, shown: Iterable[Configuration]
) -> dict[str, Any]:
    """Return all that it takes to draw a figure again, and to know what it shows.

    Parameters
    ----------
    job
        The figure's job.
    dataset
        The aggregate of the study.
    shown
        The configurations that were drawn; the others may still have decided which are best.
    """
    drawn = {tuple(one.runs) for one in shown}
    drawing = {package: version(package) for package in ("matplotlib", "seaborn", "xarray")}
    columns = {name: dataset[name].values.tolist() for name in ("spec", *PER_RUN)}
    return {
        "study": job["study"],
        "title": dataset.attrs["title"],
        "figure": job["figure"],
        "style": job["style"],
        "gap": dataset.attrs["gap"],
        "code_hash": job["code_hash"],
        "versions": dataset.attrs["versions"] | drawing,
        "configurations": [
            {"shown": tuple(one.runs) in drawn, **_of_configuration(columns, one)}
            for one in configurations(dataset)
        ],
    }


def _of_configuration(columns: dict[str, list[Any]], one: Configuration) -> dict[str, Any]:
    spec = json.loads(columns["spec"][one.runs[0]])
    del spec["seed"]
    return {
        "dataset": one.dataset,
        "solver": one.solver,
        "step": one.step,
        "init_scale": one.init_scale,
        "tuned": one.tuned,
        "spec": spec,
        "runs": [{name: columns[name][run] for name in PER_RUN} for run in one.runs],
    }
