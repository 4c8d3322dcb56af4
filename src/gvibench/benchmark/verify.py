"""Run a random share of an entry's instances again, and compare the costs of its targets."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from gvibench.benchmark.entries import Records, entry_outcomes, published
from gvibench.benchmark.instances import InstanceSpec, arrays_of, instances, study_of
from gvibench.datasets.cache import prepared_path
from gvibench.engine.execute import execute
from gvibench.errors import UserError, suggest
from gvibench.store.prepared import read_prepared
from gvibench.study.config import Config
from gvibench.study.plan import solver_title

__all__ = ["Agreement", "agreement", "run_instance", "verify"]

CLOSE = 1.25
"""Ratio up to which two costs agree. Recorded iterates of stochastic runs are up to 5 % apart."""
FEW = 2.0
"""Number of passes up to which two costs agree."""


@dataclass(frozen=True)
class Agreement:
    """Comparison of two outcomes of the same entry."""

    instances: int
    targets: int
    reached: int
    """Number of targets that both reached at about the same cost."""
    missed: int
    """Number of targets that neither reached."""

    @property
    def agreeing(self) -> int:
        """Number of targets on which both agree."""
        return self.reached + self.missed

    def __str__(self) -> str:
        return (
            f"{self.instances} instances run again: {self.agreeing} of {self.targets} targets "
            f"agree ({100 * self.agreeing / self.targets:.1f} %), {self.reached} reached at about "
            f"the same cost and {self.missed} reached by neither"
        )


def agreement(first: xr.Dataset, second: xr.Dataset) -> Agreement:
    """Compare the costs of two outcomes on the same instances."""
    dims = ("instance", "target", ...)
    a, b = (each["cost"].transpose(*dims).values.ravel() for each in (first, second))
    with np.errstate(invalid="ignore"):
        ratio = np.maximum(a, b) / np.minimum(a, b)
        close = (ratio <= CLOSE) | (np.abs(a - b) <= FEW)
    missed = np.isinf(a) & np.isinf(b)
    reached = close & np.isfinite(a) & np.isfinite(b)
    return Agreement(first.sizes["instance"], a.size, int(reached.sum()), int(missed.sum()))


def run_instance(each: InstanceSpec) -> Records:
    """Run a solver on an instance in this process."""
    trace = execute(each.spec, read_prepared(prepared_path(each.spec.data)))
    scalars = trace.scalars
    return Records(
        scalars["data_passes"],
        scalars["seconds"],
        scalars["objective"] - arrays_of(each).optimum,
        trace.attrs["status"],
        trace.attrs["reason"],
    )


def verify(
    entry: str, track: str, config: Config, share: float = 0.05, seed: int | None = None
) -> Agreement:
    """Run a random share of a published entry again and compare it with the archive."""
    study = study_of(config, track)
    if entry not in study.solvers:
        raise UserError(
            f"'{entry}' is not an entry of track {track.upper()}{suggest(entry, study.solvers)}; "
            f"available: {', '.join(study.solvers)}"
        )
    archive = published(track)
    listed = instances(study, entry)
    count = max(1, round(share * len(listed)))
    picked = np.sort(np.random.default_rng(seed).choice(len(listed), count, replace=False))
    chosen = [listed[k] for k in picked]
    runs = {each.name: run_instance(each) for each in chosen}
    found = entry_outcomes(entry, runs, chosen, study)
    title = solver_title(entry, study.solvers[entry].solver or entry)
    wanted = [each.name for each in chosen]
    return agreement(archive.sel(entry=title, instance=wanted), found)
