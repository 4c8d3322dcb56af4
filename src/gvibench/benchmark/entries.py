"""Turn runs into outcomes, and compare them with the published archive of the benchmark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from gvibench.analysis.outcomes import outcomes_of
from gvibench.benchmark.instances import InstanceSpec, budget_of, instances, targets_of
from gvibench.errors import UserError
from gvibench.spec.starts import INSTANCE_FIELDS
from gvibench.store.outcomes import merge_outcomes, read_outcomes
from gvibench.study.config import Study

__all__ = [
    "ARCHIVE",
    "Records",
    "archive_path",
    "compared",
    "development_path",
    "entry_outcomes",
    "published",
    "study_outcomes",
]

ARCHIVE = Path(__file__).with_name("archive")
"""Folder of the published outcomes, one file per league and track."""


@dataclass(frozen=True)
class Records:
    """Cost, time and excess objective along one run on an instance, and how it ended."""

    cost: np.ndarray
    seconds: np.ndarray
    gap: np.ndarray
    status: str
    reason: str


def archive_path(track: str, league: str = "untuned") -> Path:
    """Return the file with the published outcomes of a track and a league."""
    return ARCHIVE / f"{league}-{track.lower()}.zarr.zip"


def development_path() -> Path:
    """Return the file with the outcomes on the development problems, which are not scored."""
    return ARCHIVE / "development.zarr.zip"


def study_outcomes(aggregate: xr.Dataset, study: Study) -> xr.Dataset:
    """Return the outcomes of a finished study of the benchmark, with the names of its instances."""
    found = outcomes_of(aggregate, targets_of(study), study.cost, budget_of(study))
    names = _names_by_start(study)
    renamed = []
    for k in range(found.sizes["instance"]):
        one = found.isel(instance=k)
        key = (str(one["problem"].values), *(float(one[name]) for name in INSTANCE_FIELDS))
        if key not in names:
            raise UserError(f"the instance '{one['instance'].values}' is not in the benchmark")
        renamed.append(names[key])
    order = [name for name in names.values() if name in set(renamed)]
    found = found.assign_coords(instance=("instance", np.array(renamed, dtype=object)))
    return found.sel(instance=order)


def _names_by_start(study: Study) -> dict[tuple[Any, ...], str]:
    return {
        (each.problem, *(float(getattr(each.spec, name)) for name in INSTANCE_FIELDS)): each.name
        for each in instances(study)
    }


def entry_outcomes(
    entry: str,
    runs: Mapping[str, Records],
    listed: Sequence[InstanceSpec],
    study: Study,
    other_limit: str = "",
) -> xr.Dataset:
    """Return the outcomes of one entry.

    A target costs what had been spent at the first record that reached it. Instances without a run
    have failed.

    Parameters
    ----------
    entry
        Name of the entry.
    runs
        Records of its runs by the names of the instances.
    listed
        Instances of the league and track.
    study
        Study of the track, which has the targets and the budget.
    other_limit
        Limit of the entry if it is not the optimum.
    """
    targets, budget = np.array(targets_of(study)), budget_of(study)
    costs = np.full((1, len(listed), len(targets)), np.inf)
    seconds, gaps = costs.copy(), np.full((1, len(listed)), np.nan)
    status = np.full(gaps.shape, "failed", dtype=object)
    reason = np.full(gaps.shape, "no trace", dtype=object)
    for k, each in enumerate(listed):
        run = runs.get(each.name)
        if run is None:
            continue
        status[0, k], reason[0, k] = run.status, run.reason
        within = run.cost <= budget
        if within.any():
            gaps[0, k] = run.gap[within][-1]
        if run.status in {"diverged", "failed"}:
            continue
        for j, target in enumerate(targets):
            reached = np.flatnonzero(within & (run.gap <= target))
            if len(reached):
                costs[0, k, j] = run.cost[reached[0]]
                seconds[0, k, j] = run.seconds[reached[0]]
    # The cost of the trials is not part of the format of traces.
    values = (costs, seconds, gaps, np.full(gaps.shape, np.nan), status, reason)
    found = _dataset(entry, listed, targets, values)
    limit = np.array([other_limit], dtype=object)
    return found.assign_coords(other_limit=("entry", limit)).assign_attrs(
        cost=study.cost, budget=budget
    )


def _dataset(
    entry: str, listed: Sequence[InstanceSpec], targets: np.ndarray, values: Sequence[np.ndarray]
) -> xr.Dataset:
    dims = ("entry", "instance", "target")
    names = ("cost", "seconds", "final_gap", "tuning_cost", "status", "reason")
    specs = [each.spec for each in listed]
    texts = {
        "instance": [each.name for each in listed],
        "problem": [each.problem for each in listed],
        "setting": [each.name.partition(".")[2] for each in listed],
    }
    return xr.Dataset(
        {name: (dims[: value.ndim], value) for name, value in zip(names, values, strict=True)},
        {
            "entry": np.array([entry], dtype=object),
            "target": targets,
            **{name: ("instance", np.array(text, dtype=object)) for name, text in texts.items()},
            **{
                name: ("instance", [getattr(spec, name) for spec in specs])
                for name in INSTANCE_FIELDS
            },
        },
    )


def published(track: str, league: str = "untuned") -> xr.Dataset:
    """Return the published outcomes of a track and a league."""
    path = archive_path(track, league)
    if not path.is_file():
        raise UserError(
            f"there are no published results of track {track.upper()}, league '{league}', in this "
            "version: install gvibench again"
        )
    return read_outcomes(path)


def compared(new: xr.Dataset, archive: xr.Dataset) -> xr.Dataset:
    """Return the published outcomes of a track together with those of new entries."""
    known, names = set(archive["entry"].values), [str(name) for name in new["entry"].values]
    new = new.assign_coords(entry=[f"{n} (new)" if n in known else n for n in names])
    return merge_outcomes([archive, new])
