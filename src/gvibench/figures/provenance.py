"""Build the metadata file of a figure: specs, hashes and versions."""

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
    """Return the metadata of a figure, which identify its content and suffice to redraw it.

    Parameters
    ----------
    job
        Job of the figure.
    dataset
        Aggregate of the study.
    shown
        Configurations that were drawn. The metadata list all configurations of the study, because
        the others may have decided which ones are best.
    """
    drawn = {tuple(config.runs) for config in shown}
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
            {"shown": tuple(config.runs) in drawn, **_describe_configuration(columns, config)}
            for config in configurations(dataset)
        ],
    }


def _describe_configuration(columns: dict[str, list[Any]], config: Configuration) -> dict[str, Any]:
    spec = json.loads(columns["spec"][config.runs[0]])
    del spec["seed"]
    return {
        "dataset": config.dataset,
        "solver": config.solver,
        "step": config.step,
        "init_scale": config.init_scale,
        "tuned": config.tuned,
        "spec": spec,
        "runs": [{name: columns[name][run] for name in PER_RUN} for run in config.runs],
    }
