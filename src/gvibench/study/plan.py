"""The jobs of a study: which files there will be, and the one text that defines each.

A job is defined by its `text`, canonical JSON that holds everything it depends on, the hash of its
code included. The workflow hands exactly this text to the command that does the job, so what is
tracked is what is used. `gvibench.study.expand` makes the jobs from a config.
"""

import functools
import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gvibench import figures, tables
from gvibench.datasets.catalogue import modules_of
from gvibench.engine.execute import run_code_hash
from gvibench.engine.optimum import optimum_code_hash
from gvibench.report.page import page_code_hash
from gvibench.spec.code import code_hash
from gvibench.spec.run import DataSpec, ProblemSpec, RunSpec, hash_text, hash_values
from gvibench.store.traces import group_name
from gvibench.study.config import Config

__all__ = [
    "BetaJob",
    "DataJob",
    "OptimumJob",
    "Plan",
    "RunJob",
    "TuningJob",
    "template",
]


@dataclass(frozen=True)
class DataJob:
    """Prepares one data set in one split."""

    path: str
    spec: DataSpec

    @property
    def own_files(self) -> list[str]:
        """The user's own files among the raw data."""
        paths = (self.spec.path, self.spec.test_path)
        return [posixpath.normpath(posixpath.expanduser(path)) for path in paths if path]

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        code = code_hash(["gvibench.datasets.build", *modules_of(self.spec)])
        return _text(code_hash=code, spec=self.spec.model_dump(mode="json"))


@dataclass(frozen=True)
class BetaJob:
    """Chooses beta for one problem, on a validation part of its training rows."""

    path: str
    data: DataJob
    spec: ProblemSpec
    betas: tuple[float, ...]

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        code = hash_text(optimum_code_hash(self.spec) + code_hash(["gvibench.engine.tuning"]))
        return _text(code_hash=code, spec=template(self.spec, {"beta"}), betas=self.betas)


@dataclass(frozen=True)
class OptimumJob:
    """Finds the optimum of one problem."""

    path: str
    data: DataJob
    spec: ProblemSpec
    beta: BetaJob | None

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        spec = template(self.spec, {"beta"} if self.beta else set())
        return _text(code_hash=optimum_code_hash(self.spec), spec=spec)


@dataclass(frozen=True)
class TuningJob:
    """Tries a grid of steps and initial scales for one solver on one data set."""

    folder: str
    data: DataJob
    spec: RunSpec
    settings: Mapping[str, Any]
    beta: BetaJob | None

    @property
    def choice(self) -> str:
        """Path of the choice."""
        return f"{self.folder}/choice.json"

    @property
    def rounds(self) -> list[str]:
        """Paths of the rounds' trials."""
        return [f"{self.folder}/round-{k}.zarr.zip" for k in range(self.settings["rounds"])]

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        opened = {"step", "init_scale"} | ({"beta"} if self.beta else set())
        spec = template(self.spec, opened)
        code = hash_text(run_code_hash(self.spec) + code_hash(["gvibench.engine.tuning"]))
        return _text(code_hash=code, spec=spec, tuning=dict(self.settings))


@dataclass(frozen=True)
class RunJob:
    """Does one run, or a block of runs that differ in their seed only."""

    path: str
    study: str
    dataset: str
    solver: str
    data: DataJob
    specs: tuple[RunSpec, ...]
    """One per seed, with placeholders for what is `opened`."""
    packed: bool
    exclusive: bool
    tuning: TuningJob | None
    beta: BetaJob | None
    optimum: OptimumJob | None
    exact_optimum: OptimumJob | None
    """Of the same problem with exact expectations, for a run that records these too."""

    @property
    def opened(self) -> set[str]:
        """The fields that the tuning stage chooses."""
        tuned = {"step", "init_scale"} if self.tuning else set()
        return tuned | ({"beta"} if self.beta else set())

    @property
    def choices(self) -> list[str]:
        """The files with what the tuning stage chose."""
        tuned = [self.tuning.choice] if self.tuning else []
        return tuned + ([self.beta.path] if self.beta else [])

    @functools.cached_property
    def text(self) -> str:
        """The defining text."""
        return _text(
            code_hash=run_code_hash(self.specs[0]),
            exclusive=self.exclusive,
            packed=self.packed,
            specs=[template(spec, self.opened) for spec in self.specs],
        )

    def entries(self) -> list[dict[str, Any]]:
        """Return what the manifest says of each run in this job."""
        shared = {
            "path": self.path,
            "dataset": self.dataset,
            "solver": self.solver,
            "choice": self.tuning.choice if self.tuning else None,
            "beta_choice": self.beta.path if self.beta else None,
            "opened": sorted(self.opened),
            "code_hash": run_code_hash(self.specs[0]),
            "optimum": self.optimum.path if self.optimum else None,
            "exact_optimum": self.exact_optimum.path if self.exact_optimum else None,
        }
        return [
            {
                **shared,
                "group": group_name(spec.seed) if self.packed else None,
                "seed": spec.seed,
                "spec_hash": hash_values(template(spec, self.opened)),
            }
            for spec in self.specs
        ]


@dataclass(frozen=True)
class Plan:
    """Everything a config asks for."""

    config: Config
    runs: dict[str, RunJob]
    """By path, as are the others."""
    data: dict[str, DataJob]
    optima: dict[str, OptimumJob]
    tuning: dict[str, TuningJob]
    """By folder."""
    betas: dict[str, BetaJob]

    @property
    def needs_cuda(self) -> bool:
        """Whether a run asks for a CUDA device, which the machine of the plan may lack."""
        return any(job.specs[0].device == "cuda" for job in self.runs.values())

    def of_study(self, study: str) -> list[RunJob]:
        """Return the run jobs of one study."""
        return [job for job in self.runs.values() if job.study == study]

    def aggregate_text(self, study: str) -> str:
        """Return the text that defines a study's aggregation, its inputs apart.

        The manifest is too long for a command line: its hash stands for it. The job expands the
        study's config once more, and the hash tells whether that gave the same runs.
        """
        code = code_hash(["gvibench.study.aggregate"])
        return _text(code_hash=code, study=study, manifest=hash_text(self.manifest(study)))

    def table_text(self, study: str, name: str) -> str:
        """Return the text that defines a table."""
        code = code_hash(["gvibench.tables", tables.module_of(name)])
        return _text(code_hash=code, table=name, study=study)

    def figure_text(self, study: str, name: str) -> str:
        """Return the text that defines a figure."""
        code = code_hash(["gvibench.figures", figures.module_of(name)])
        style = self.config.style.model_dump(mode="json")
        return _text(code_hash=code, figure=name, study=study, style=style)

    def summary_text(self, study: str) -> str:
        """Return the text that defines a study's summary."""
        settings = self.config.studies[study]
        return _text(
            code_hash=code_hash(["gvibench.report"]),
            study=study,
            tables=settings.tables,
            figures=settings.figures,
        )

    def page_text(self, study: str) -> str:
        """Return the text that defines a study's report page."""
        settings = self.config.studies[study]
        return _text(
            code_hash=page_code_hash(settings.tables),
            study=study,
            tables=settings.tables,
            figures=settings.figures,
        )

    def manifest(self, study: str) -> str:
        """Return the text of a study's manifest: every run it consists of."""
        # Sorted, so that the order of a config does not matter.
        jobs = sorted(self.of_study(study), key=lambda job: job.path)
        runs = [entry for job in jobs for entry in job.entries()]
        settings = self.config.studies[study]
        head = {"study": study, "title": settings.title, "gap": settings.gap}
        lines = ",\n".join(json.dumps(run, sort_keys=True) for run in runs)
        return f'{json.dumps(head)[:-1]}, "runs": [\n{lines}\n]}}\n'

    def settings_of(self, study: str) -> dict[str, Any]:
        """Return the config with this study alone as plain data, to be kept with its results."""
        alone = self.config.model_copy(update={"studies": {study: self.config.studies[study]}})
        return alone.model_dump(mode="json", exclude_unset=True, exclude={"without"})

    def config_text(self, study: str) -> str:
        """Return the text that defines the record of a study's config."""
        return _text(config=self.settings_of(study))


def template(spec: ProblemSpec, opened: set[str]) -> dict[str, Any]:
    """Return a spec as JSON with null for what is still to be chosen."""
    return {**spec.model_dump(mode="json"), **dict.fromkeys(opened)}


def _text(**parts: Any) -> str:
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
