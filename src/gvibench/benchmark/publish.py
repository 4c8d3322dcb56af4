"""Reduce the finished studies of the benchmark to its archive.

`python -m gvibench.benchmark.publish` reads results/benchmark and writes the archive that the
package contains: one file of outcomes per league and track, and the trials of the tuning budget.
"""

from pathlib import Path

import numpy as np
import xarray as xr

from gvibench.benchmark.entries import (
    ARCHIVE,
    archive_path,
    development_path,
    study_outcomes,
)
from gvibench.benchmark.instances import league_studies, read_benchmark
from gvibench.benchmark.protocol import FROZEN, RELEASE, TRACKS
from gvibench.benchmark.tuning_budget import read_trials
from gvibench.store.aggregates import open_aggregate
from gvibench.store.outcomes import write_outcomes
from gvibench.study.config import Config

__all__ = ["finished_outcomes", "league_outcomes", "write_archive"]


def league_outcomes(config: Config, track: str, league: str) -> xr.Dataset | None:
    """Return the outcomes of a league on a track, or None if its studies are not finished.

    The searches of the tuned league are further instances.
    """
    parts = []
    for suffix, study in league_studies(config, track, league).items():
        part = finished_outcomes(config, study)
        if part is None:
            return None
        renamed = [f"{instance}{suffix}" for instance in part["instance"].values]
        parts.append(part.assign_coords(instance=np.array(renamed, dtype=object)))
    return xr.concat(parts, "instance", data_vars="minimal", combine_attrs="override")


def finished_outcomes(config: Config, study: str) -> xr.Dataset | None:
    """Return the outcomes of a study, or None if it is not finished."""
    path = Path(config.results, study, "aggregate.zarr.zip")
    if not path.is_file():
        return None
    with open_aggregate(path) as aggregate:
        return study_outcomes(aggregate, config.studies[study])


def write_archive(config: Config, folder: Path = ARCHIVE) -> list[Path]:
    """Write the outcomes of all finished leagues, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        archive_path(track, league).name: league_outcomes(config, track, league)
        for league in ("untuned", "tuned")
        for track in TRACKS
    }
    found[development_path().name] = finished_outcomes(config, "development")
    written = []
    for name, outcomes in found.items():
        if outcomes is not None:
            write_outcomes(folder / name, outcomes, {"release": RELEASE, "rules": FROZEN})
            written.append(folder / name)
    trials = read_trials(Path(config.results, "budget-a"))
    if len(trials):
        path = folder / "tuning-trials.csv.gz"
        trials.to_csv(path, index=False, compression={"method": "gzip", "mtime": 0})
        written.append(path)
    return written


if __name__ == "__main__":
    for file in write_archive(read_benchmark()):
        print(file)
