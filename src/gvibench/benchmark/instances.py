"""List the instances of the benchmark, and compute the arrays that define them.

An instance is a problem in some coordinates with a start. Its name is `PROBLEM.BASIS.START`.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gvibench import models, numerics
from gvibench.benchmark.protocol import CONFIG, FROZEN, RELEASE, TRACKS, protocol_hash
from gvibench.datasets.cache import prepared_path
from gvibench.engine.run import initial_gaussian
from gvibench.errors import UserError
from gvibench.models.prior import GaussianPrior
from gvibench.spec.run import RunSpec
from gvibench.spec.starts import start_name
from gvibench.store.certified import certified_optimum
from gvibench.store.prepared import read_prepared
from gvibench.store.problem_folders import Instance, ProblemFolder, write_problems
from gvibench.study.config import Config, Study, load_config
from gvibench.study.variants import variants
from gvibench.study.yaml_file import read_yaml

__all__ = [
    "SEARCH",
    "InstanceSpec",
    "arrays_of",
    "budget_of",
    "export",
    "instances",
    "league_instances",
    "league_studies",
    "read_benchmark",
    "study_of",
    "targets_of",
]


SEARCH = ".search-"
"""Start of the suffix of instances in the tuned league, before the number of the search."""


@dataclass(frozen=True)
class InstanceSpec:
    """An instance, with the run of one solver on it."""

    name: str
    problem: str
    spec: RunSpec


def read_benchmark(path: Path = CONFIG) -> Config:
    """Read the config of the benchmark, which belongs to a clone of gvibench."""
    if not path.is_file():
        raise UserError(f"{path} does not exist: run the command in a clone of gvibench")
    values = read_yaml(path)
    config = load_config(values, str(path))
    if (found := protocol_hash(values)) != FROZEN:
        raise UserError(
            f"{path} has other rules than {RELEASE} (hash {found} instead of {FROZEN}), so results "
            "cannot be compared: restore the file, and use a copy for your own studies"
        )
    return config


def study_of(config: Config, track: str) -> Study:
    """Return the study without tuning of a track: A, B or C."""
    if track.lower() not in TRACKS:
        raise UserError(f"unknown track '{track}': use A, B or C")
    return config.studies[TRACKS[track.lower()]]


def instances(study: Study, solver: str | None = None) -> list[InstanceSpec]:
    """Return the instances of a study, with the runs of one of its solvers (default: the first)."""
    label = solver or next(iter(study.solvers))
    found = []
    for dataset in study.datasets:
        for variant in variants(study, dataset, label, f"{label} on {dataset}"):
            found.append(InstanceSpec(name_of(study, dataset, variant.spec), dataset, variant.spec))
    return found


def league_studies(config: Config, track: str, league: str) -> dict[str, str]:
    """Return the names of the studies of a league and track, by the suffix of their instances.

    The league without tuning has one study. The tuned league has one per search.
    """
    prefix = f"{league}-{track.lower()}"
    if prefix in config.studies:
        return {"": prefix}
    searches = [name for name in config.studies if name.startswith(f"{prefix}-")]
    return {f"{SEARCH}{name.removeprefix(f'{prefix}-')}": name for name in searches}


def league_instances(config: Config, track: str, league: str) -> dict[str, InstanceSpec]:
    """Return the instances of a league and track by name. Those of the searches have a suffix."""
    return {
        f"{each.name}{suffix}": replace(each, name=f"{each.name}{suffix}")
        for suffix, study in league_studies(config, track, league).items()
        for each in instances(config.studies[study])
    }


def name_of(study: Study, dataset: str, spec: RunSpec) -> str:
    """Return the name of the instance of a run."""
    basis = "identity" if spec.basis_condition == 1 else "affine"
    if start := start_name(study.named_starts(), spec.to_dict()):
        return f"{dataset}.{basis}.{start}"
    raise UserError(
        f"the run on '{dataset}' with mean_scale {spec.mean_scale:g} and init_scale "
        f"{spec.init_scale:g} has none of the starts of the benchmark"
    )


def budget_of(study: Study) -> float:
    """Return the budget of a study in data passes."""
    return float(study.score.budget)


def targets_of(study: Study) -> tuple[float, ...]:
    """Return the targets of a study in nats, in descending order."""
    return study.score.settings().targets


def arrays_of(instance: InstanceSpec) -> Instance:
    """Return the arrays that define an instance."""
    spec = instance.spec.replace(expectation="exact")
    data = read_prepared(prepared_path(spec.data))
    train, test = models.rows_of(data, spec)
    model = models.build(spec, numerics.select("cpu"), train, test, names=models.names_of(data))
    prior = model.prior
    d = train.x.shape[1]
    precision = prior.precision if isinstance(prior, GaussianPrior) else spec.beta * np.eye(d)
    mean, scale = initial_gaussian(spec, d)
    return Instance(
        name=instance.name,
        model=spec.model,
        rows=train.x,
        y=train.y,
        precision=precision,
        mean0=mean,
        factor0=scale * np.eye(d) if isinstance(scale, float) else scale,
        optimum=_optimum(spec),
        held_out_rows=test.x,
        held_out_y=test.y,
        gamma=spec.gamma,
    )


def _optimum(spec: RunSpec) -> float:
    """Return the certified optimum, which does not depend on the coordinates."""
    found = certified_optimum(spec.data.dataset, spec.model)
    problem = spec.problem().replace(basis_condition=1.0)
    if found is None or found.spec_hash != problem.spec_hash:
        raise UserError(
            f"'{spec.data.dataset}' with model '{spec.model}' and these settings has no certified "
            "optimum: use the defaults of the data set"
        )
    return found.objective


def export(folder: Path, config: Config, names: Collection[str] = ()) -> ProblemFolder:
    """Write all instances, or those with the given names, as plain arrays."""
    studies = {track.upper(): study_of(config, track) for track in TRACKS}
    by_track = {track: instances(study) for track, study in studies.items()}
    # The instances of track A include those of the other tracks.
    listed = [each for each in by_track["A"] if not names or each.name in names]
    return write_problems(
        folder,
        map(arrays_of, listed),
        release=RELEASE,
        budgets={track: budget_of(study) for track, study in studies.items()},
        targets={track: targets_of(study) for track, study in studies.items()},
        tracks={track: [each.name for each in found] for track, found in by_track.items()},
    )
