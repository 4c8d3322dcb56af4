"""Build the metadata file of a figure: specs, hashes and versions."""

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import xarray as xr

from gvibench.analysis.configurations import Configuration, configurations
from gvibench.figures.style import dash_lengths, line_styles_of

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
        Configurations that were drawn. The metadata name the others, too, because they may have
        decided which ones are best.
    """
    shown = list(shown)
    drawn = {tuple(config.runs) for config in shown}
    drawing = {package: version(package) for package in ("matplotlib", "seaborn", "xarray")}
    columns = {name: dataset[name].values.tolist() for name in PER_RUN}
    return {
        "study": job["study"],
        "title": dataset.attrs["title"],
        "figure": job["figure"],
        "style": job["style"],
        "gap": dataset.attrs["gap"],
        "code_hash": job["code_hash"],
        "lines": {
            line: {"color": look.color, "dash": dash_lengths(look), "marker": look.marker}
            for line, look in line_styles_of(shown).items()
        },
        "versions": dataset.attrs["versions"] | drawing,
        "configurations": [
            _name(config) | _details(columns, config)
            if tuple(config.runs) in drawn
            else _name(config)
            for config in configurations(dataset)
        ],
    }


def _name(config: Configuration) -> dict[str, Any]:
    return {
        "shown": False,
        "dataset": config.dataset,
        "solver": config.solver,
        "step": config.step,
        "init_scale": config.init_scale,
        "tuned": config.tuned,
    }


def _details(columns: dict[str, list[Any]], config: Configuration) -> dict[str, Any]:
    spec = config.spec
    del spec["seed"]
    return {
        "shown": True,
        "spec": spec,
        "runs": [{name: columns[name][run] for name in PER_RUN} for run in config.runs],
    }
