"""Jobs of a study: the files they write and the parameters that define them.

The parameters of a job are canonical JSON with everything it depends on, including the hash of its
code. The workflow passes exactly this text to the command that carries out the job. Snakemake
therefore tracks what is used. `gvibench.study.expand` builds the jobs from a config.
"""

import functools
import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gvibench.registry import SOLVERS
from gvibench.spec.canonical import canonical_json, hash_text, hash_values
from gvibench.spec.catalogue import find
from gvibench.spec.metrics import CURVES, EXTRA_CURVES
from gvibench.spec.run import DataSpec, ProblemSpec, RunSpec, group_names
from gvibench.spec.starts import START_FIELDS
from gvibench.spec.tuning import TRIALS
from gvibench.study import code_hash
from gvibench.study.config import Config

if TYPE_CHECKING:
    from gvibench.study.measure_job import MeasureJob

__all__ = [
    "BetaJob",
    "DataJob",
    "OptimumJob",
    "Plan",
    "RunJob",
    "TuningJob",
    "job_params",
    "mask_tuned_fields",
    "solver_title",
]


@dataclass(frozen=True)
class DataJob:
    """Prepare one data set in one split."""

    path: str
    spec: DataSpec

    @property
    def own_files(self) -> list[str]:
        """The user's own files that the data are read from."""
        paths = (self.spec.path, self.spec.test_path)
        return [posixpath.normpath(posixpath.expanduser(path)) for path in paths if path]

    @functools.cached_property
    def params(self) -> str:
        """Parameters of the job."""
        return job_params(code_hash=code_hash.data_hash(self.spec), spec=self.spec.to_dict())


@dataclass(frozen=True)
class BetaJob:
    """Choose beta for one problem, on a validation part of its training rows."""

    path: str
    data: DataJob
    spec: ProblemSpec
    betas: tuple[float, ...]

    @functools.cached_property
    def params(self) -> str:
        """Parameters of the job."""
        spec = mask_tuned_fields(self.spec, {"beta"})
        return job_params(code_hash=code_hash.beta_hash(self.spec), spec=spec, betas=self.betas)


@dataclass(frozen=True)
class OptimumJob:
    """Find the optimum of one problem."""

    path: str
    data: DataJob
    spec: ProblemSpec
    beta: BetaJob | None

    @functools.cached_property
    def params(self) -> str:
        """Parameters of the job."""
        spec = mask_tuned_fields(self.spec, {"beta"} if self.beta else set())
        return job_params(code_hash=code_hash.optimum_hash(self.spec), spec=spec)


@dataclass(frozen=True)
class TuningJob:
    """Tune step size and initial scale of one solver on one data set."""

    folder: str
    data: DataJob
    spec: RunSpec
    settings: Mapping[str, Any]
    beta: BetaJob | None
    fields: tuple[str, ...] = ("step", "init_scale")
    """Fields that are tuned. Named starts have their own initial scale."""

    @property
    def choice(self) -> str:
        """Path of the choice."""
        return f"{self.folder}/choice.json"

    @property
    def trials(self) -> str:
        """Path of the trials, which the job keeps in addition to its output."""
        return f"{self.folder}/{TRIALS}"

    @functools.cached_property
    def params(self) -> str:
        """Parameters of the job."""
        tuned = {"step", "init_scale"} | ({"beta"} if self.beta else set())
        return job_params(
            code_hash=code_hash.tuning_hash(self.spec),
            trials_hash=code_hash.trials_hash(self.spec),
            spec=mask_tuned_fields(self.spec, tuned),
            tuning=dict(self.settings),
        )


@dataclass(frozen=True)
class RunJob:
    """Execute one run, or a block of runs that differ in their start or seed only."""

    path: str
    study: str
    dataset: str
    solver: str
    data: DataJob
    specs: tuple[RunSpec, ...]
    """One spec per start and seed, with placeholders for `tuned_fields`."""
    packed: bool
    exclusive: bool
    tuning: TuningJob | None
    beta: BetaJob | None
    optimum: OptimumJob | None
    exact_optimum: OptimumJob | None
    """Optimum of the same problem with exact expectations, for a run that records them too."""

    @property
    def tuned_fields(self) -> set[str]:
        """Fields whose values the tuning stage chooses."""
        tuned = set(self.tuning.fields) if self.tuning else set()
        return tuned | ({"beta"} if self.beta else set())

    @property
    def choices(self) -> list[str]:
        """Paths of the choices of the tuning stage."""
        tuned = [self.tuning.choice] if self.tuning else []
        return tuned + ([self.beta.path] if self.beta else [])

    @functools.cached_property
    def code_hash(self) -> str:
        """Hash of the code of the run."""
        return code_hash.run_hash(self.specs[0])

    @functools.cached_property
    def params(self) -> str:
        """Parameters of the job."""
        pairs = dict.fromkeys((spec.mean_scale, spec.init_scale) for spec in self.specs)
        different = [dict(zip(START_FIELDS, pair, strict=True)) for pair in pairs]
        masked = START_FIELDS if len(different) > 1 else ()
        return job_params(
            code_hash=self.code_hash,
            exclusive=self.exclusive,
            packed=self.packed,
            spec=mask_tuned_fields(self.specs[0], {*self.tuned_fields, *masked, "seed"}),
            starts=different if masked else [{}],
            seeds=list(dict.fromkeys(spec.seed for spec in self.specs)),
        )

    @property
    def groups(self) -> list[str]:
        """Names of the groups of the runs in a packed file."""
        return group_names([(spec.mean_scale, spec.init_scale, spec.seed) for spec in self.specs])

    def manifest_rows(self) -> list[dict[str, Any]]:
        """Return one row of the manifest per run."""
        shared = {
            "path": self.path,
            "dataset": self.dataset,
            "solver": self.solver,
            "choice": self.tuning.choice if self.tuning else None,
            "beta_choice": self.beta.path if self.beta else None,
            "tuned_fields": sorted(self.tuned_fields),
            "code_hash": self.code_hash,
            "optimum": self.optimum.path if self.optimum else None,
            "exact_optimum": self.exact_optimum.path if self.exact_optimum else None,
        }
        return [
            {
                **shared,
                "group": group if self.packed else None,
                "seed": spec.seed,
                "spec_hash": hash_values(mask_tuned_fields(spec, self.tuned_fields)),
            }
            for group, spec in zip(self.groups, self.specs, strict=True)
        ]


@dataclass(frozen=True)
class Plan:
    """All jobs of a config."""

    config: Config
    runs: dict[str, RunJob]
    """Run jobs by path."""
    data: dict[str, DataJob]
    """Data jobs by path."""
    optima: dict[str, OptimumJob]
    """Optimum jobs by path."""
    tuning: dict[str, TuningJob]
    """Tuning jobs by folder."""
    betas: dict[str, BetaJob]
    """Beta jobs by path."""
    measures: "dict[str, MeasureJob]"
    """Measure jobs by path."""

    @property
    def needs_cuda(self) -> bool:
        """Whether a run needs a CUDA device."""
        return any(job.specs[0].device == "cuda" for job in self.runs.values())

    def of_study(self, study: str) -> list[RunJob]:
        """Return the run jobs of one study."""
        return [job for job in self.runs.values() if job.study == study]

    def measures_of(self, study: str) -> "list[MeasureJob]":
        """Return the measure jobs of one study, sorted by path."""
        jobs = [job for job in self.measures.values() if job.study == study]
        return sorted(jobs, key=lambda job: job.path)

    def params(self, stage: str, study: str, name: str = "") -> str:
        """Return the parameters of a job behind the aggregate: one stage of one study.

        Parameters
        ----------
        stage
            `aggregate`, `config`, `table`, `figure`, `summary` or `page`.
        study
            Name of the study.
        name
            Name of the table or figure.
        """
        settings = self.config.studies[study]
        shown = {"study": study, "tables": settings.tables, "figures": settings.figures}
        match stage:
            case "aggregate":
                # The manifest is too long for a command line, so the job gets its hash. The job
                # expands the config again and compares.
                manifest = hash_text(self.manifest(study))
                code = code_hash.aggregate_hash()
                return job_params(code_hash=code, study=study, manifest=manifest)
            case "config":
                # Results do not depend on the workers, which differ between machines.
                kept = self.settings_of(study)
                kept.pop("dask", None)
                return job_params(config=kept)
            case "table":
                return job_params(code_hash=code_hash.table_hash(name), table=name, study=study)
            case "figure":
                code, style = code_hash.figure_hash(name), self.config.style.model_dump(mode="json")
                return job_params(code_hash=code, figure=name, study=study, style=style)
            case "summary":
                return job_params(code_hash=code_hash.summary_hash(), **shown)
            case "page":
                return job_params(code_hash=code_hash.page_hash(settings.tables), **shown)
        raise ValueError(f"no stage '{stage}'")

    def manifest(self, study: str) -> str:
        """Return the manifest of a study as text: all its runs, and titles for readers."""
        # Sorted, so that the order of a config does not matter. `untracked` has the order.
        jobs = sorted(self.of_study(study), key=lambda job: job.path)
        runs = [row for job in jobs for row in job.manifest_rows()]
        settings = self.config.studies[study]
        titles: dict[str, dict[str, str]] = {}
        for job in jobs:
            solver = job.specs[0].solver
            titles.setdefault(job.solver, {})[solver] = solver_title(job.solver, solver)
        requested = {name for job in jobs for name in job.specs[0].record}
        head = {
            "study": study,
            "title": settings.title,
            "gap": settings.gap,
            "cost": settings.cost,
            "score": settings.score.settings().to_dict(),
            "starts": settings.named_starts(),
            "other_limits": {
                solver: limit
                for solver in sorted({job.specs[0].solver for job in jobs})
                if (limit := SOLVERS.load(solver).other_limit)
            },
            "records": max(job.specs[0].max_records for job in jobs),
            "curves": [*CURVES, *(name for name in EXTRA_CURVES if name in requested)],
            "solver_titles": titles,
            "dataset_titles": {job.dataset: find(job.data.spec).title for job in jobs},
        }
        if measures := self.measures_of(study):
            head["measures"] = [job.manifest_row() for job in measures]
        lines = ",\n".join(json.dumps(run, sort_keys=True) for run in runs)
        return f'{json.dumps(head, sort_keys=True)[:-1]}, "runs": [\n{lines}\n]}}\n'

    def untracked(self, study: str) -> str:
        """Return what tables, figures and reports need besides their parameters.

        Neither the order of data sets and solvers nor the workers change a number, so a change of
        these does not repeat a job.
        """
        settings = self.config.studies[study]
        order = {"dataset": list(settings.datasets), "solver": list(settings.solvers)}
        dask = self.config.dask.model_dump(mode="json") if self.config.dask else None
        return json.dumps({"order": order, "dask": dask})

    def settings_of(self, study: str) -> dict[str, Any]:
        """Return the config with this study only, as plain data to store with its results."""
        alone = self.config.model_copy(update={"studies": {study: self.config.studies[study]}})
        return alone.model_dump(mode="json", exclude_unset=True, exclude={"without"})


def solver_title(label: str, solver: str) -> str:
    """Return the name of a solver for readers: its title, or a label that the study has chosen."""
    if label not in SOLVERS.names():
        return label
    title: str = SOLVERS.load(solver).title
    return title


def mask_tuned_fields(spec: ProblemSpec, tuned: set[str]) -> dict[str, Any]:
    """Return a spec as plain data with null for the fields that are still to be tuned."""
    return {**spec.to_dict(), **dict.fromkeys(tuned)}


def job_params(**values: Any) -> str:
    """Return the parameters of a job as canonical JSON."""
    return canonical_json(values)
