"""The jobs of a study: which files there will be, and the one text that defines each.

A job is defined by its `text`, canonical JSON that holds everything it depends on, the hash of its
code included. The workflow hands exactly this text to the command that does the job, so what is
tracked is what is used. `gvibench.expansion` makes the jobs from a config.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gvibench import figures, tables
from gvibench.datasets.catalogue import modules_of
from gvibench.loop import run_code_hash
from gvibench.optimum import optimum_code_hash
from gvibench.provenance import code_hash
from gvibench.report.page import page_code_hash
from gvibench.spec import DataSpec, ProblemSpec, RunSpec, hash_text, hash_values
from gvibench.study import Config
from gvibench.traces import group_name

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
        return [path for path in (self.spec.path, self.spec.test_path) if path is not None]

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
        code = hash_text(optimum_code_hash(self.spec) + code_hash(["gvibench.tuning"]))
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
        code = _tuning_code_hash(self.spec)
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
            code_hash=_run_code_hash(self.specs[0]),
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
            "code_hash": _run_code_hash(self.specs[0]),
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

    def of_study(self, study: str) -> list[RunJob]:
        """Return the run jobs of one study."""
        return [job for job in self.runs.values() if job.study == study]

    def aggregate_text(self, study: str) -> str:
        """Return the text that defines a study's aggregation, its inputs apart."""
        return _text(code_hash=code_hash(["gvibench.aggregate"]), study=study)

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

    def config_of(self, study: str) -> str:
        """Return the text of a config with this study alone, to be kept with its results."""
        import yaml

        alone = self.config.model_copy(update={"studies": {study: self.config.studies[study]}})
        values = alone.model_dump(mode="json", exclude_unset=True, exclude={"without"})
        text: str = yaml.safe_dump(values, sort_keys=False)
        return text


def template(spec: ProblemSpec, opened: set[str]) -> dict[str, Any]:
    """Return a spec as JSON with null for what is still to be chosen."""
    return {**spec.model_dump(mode="json"), **dict.fromkeys(opened)}


def _text(**parts: Any) -> str:
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)


# Many runs share their code: hash it once.


def _run_code_hash(spec: RunSpec) -> str:
    return _cached_code_hash(*_parts_of_code(spec), tuning=False)


def _tuning_code_hash(spec: RunSpec) -> str:
    return _cached_code_hash(*_parts_of_code(spec), tuning=True)


def _parts_of_code(spec: RunSpec) -> tuple[str, str, str, tuple[str, ...]]:
    return spec.solver, spec.model, spec.expectation, spec.record


@functools.cache
def _cached_code_hash(
    solver: str, model: str, expectation: str, record: tuple[str, ...], *, tuning: bool
) -> str:
    spec = RunSpec(
        data=DataSpec(dataset="any"),
        beta=1.0,
        step=1.0,
        solver=solver,
        model=model,  # type: ignore[arg-type]
        expectation=expectation,  # type: ignore[arg-type]
        record=record,
    )
    run = run_code_hash(spec)
    return hash_text(run + code_hash(["gvibench.tuning"])) if tuning else run
