"""Pydantic models of config files.

They validate configs, and their docstrings are the documentation of all settings.
`gvibench.study.expand` turns a config into jobs.

Settings can be given for a study, a data set, a solver, and a solver within a data set. Later ones
in this list override earlier ones.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    create_model,
)

from gvibench.spec.fields import Count, Name, NonNegative, Option
from gvibench.spec.prior import PriorSettings
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.spec.specs import Spec
from gvibench.spec.validate import StrictModel, model_of, parse
from gvibench.study.config_fields import (
    MAX_RUNS,
    DrawsFile,
    Figure,
    Folder,
    LogGrid,
    Model,
    Number,
    Scales,
    Seeds,
    Share,
    Steps,
    StepSettings,
    StudyName,
    Table,
    Title,
    check_distinct,
    check_number,
)
from gvibench.study.dask_settings import (
    DASK_MODELS,
    DaskSettings,
    LocalWorkers,
    SlurmWorkers,
    WorkerRange,
)
from gvibench.study.score_settings import SCORE_MODELS, Score, Targets
from gvibench.study.start_settings import Start, Tuning

__all__ = [
    "MAX_RUNS",
    "MODELS",
    "Config",
    "DatasetSettings",
    "LogGrid",
    "Score",
    "SolverSettings",
    "Start",
    "Study",
    "Tuning",
    "load_config",
    "read_config",
    "to_yaml",
]


# All fields of a run can be set at all levels, except those that identify the run.
_ELSEWHERE = {
    *("data", "model", "solver", "solver_options", "beta", "init_scale", "seed", "record"),
    *("step", "step_rule", "step_options"),
}


def _optional(kind: type[Spec], without: set[str]) -> dict[str, Any]:
    """Return the fields of a spec with their constraints, all optional."""
    fields: dict[str, Any] = {}
    for name, field in model_of(kind).model_fields.items():
        if name not in without:
            hint: Any = field.annotation
            for constraint in field.metadata:
                hint = Annotated[hint, constraint]
            if "float" in str(field.annotation):
                hint = Annotated[hint, BeforeValidator(check_number, json_schema_input_type=float)]
            fields[name] = (hint | None, None)
    return fields


_RunFields: Any = create_model(
    "_RunFields", __base__=StrictModel, **_optional(RunSpec, without=_ELSEWHERE)
)


class Settings(_RunFields):
    """Settings of a study, a data set or a solver."""

    model: Model | None = None
    """Name of the model: `logistic` and `probit` for two classes, `linear` for real targets,
    `poisson` for counts, and `non-convex`, which is logistic with the penalty
    sum m_j^2 / (1 + m_j^2) on the mean (default: logistic)."""
    beta: Literal["tuned"] | Annotated[NonNegative, BeforeValidator(check_number)] | None = None
    """Coefficient of |theta|^2 / 2 in the loss: a number, or `tuned` on a validation part of the
    training rows (default: the value of the data set)."""
    step: Steps | None = None
    """Step size: a number, a list, a grid, `paper` (the paper's step), `tuned`, the name of a step
    rule, or a step rule with settings, e.g. `{rule: decay, step: 0.1, decay: 0.01}` (default:
    `auto`, which searches for each step). Solvers without a step size ignore it."""
    init_scale: Scales | None = None
    """Scale of the initial covariance factor, C0 = init_scale * I: a number or a list. With a tuned
    step it is tuned as well."""
    record: Annotated[list[str], AfterValidator(check_distinct)] | None = None
    """Further quantities to record."""


class SolverSettings(Settings):
    """Solver in a study; its key is its name in figures and tables."""

    solver: Name | None = None
    """Id of the solver (default: the key). A solver can appear twice, with other options."""
    options: dict[str, Option] = {}
    """Settings of the solver itself."""


_DataFields: Any = create_model(
    "_DataFields", __base__=Settings, **_optional(DataSpec, without={"dataset", "options", "split"})
)


class DatasetSettings(_DataFields):
    """Data set in a study; its key is its name in figures and tables."""

    dataset: Name | None = None
    """Name in the catalogue (default: the key). A data set can appear several times with different
    splits."""
    split: Literal["sklearn", "random", "first", "given", "none"] | Share | None = None
    """`sklearn`: train_test_split as in the paper; `random`: stratified, one split per
    `split_seed`; `first`: the first `train_size` rows are for training, the others for testing;
    `given`: the data set's own test file; `none`: all rows are for training. A fraction is the
    share of the test rows of `sklearn`."""
    options: dict[str, Option] = {}
    """Settings of the data set itself."""
    truth: DrawsFile | None = None
    """File with draws from the true posterior, for the table `truth`: `.npz` with the array `draws`
    and the axes (draw, feature) or (chain, draw, feature), or `.nc` (ArviZ or plain NetCDF)."""
    solvers: dict[Name, SolverSettings] = {}
    """Settings of solvers on this data set only."""


def _to_mapping(value: Any) -> Any:
    """Turn a list of names into a mapping without settings."""
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return {name: {} for name in check_distinct(value)}
    if isinstance(value, Mapping):
        return {name: {} if settings is None else settings for name, settings in value.items()}
    return value


class Study(Settings):
    """Study: data sets × solvers × steps × initial scales × seeds."""

    title: Title = ""
    """Title for figures and reports."""
    datasets: Annotated[
        dict[Name, DatasetSettings],
        Field(min_length=1),
        BeforeValidator(
            _to_mapping, json_schema_input_type=list[Name] | dict[Name, DatasetSettings | None]
        ),
    ]
    """Data sets: a list of names, or names with settings."""
    solvers: Annotated[
        dict[Name, SolverSettings],
        Field(min_length=1),
        BeforeValidator(
            _to_mapping, json_schema_input_type=list[Name] | dict[Name, SolverSettings | None]
        ),
    ]
    """Solvers: a list of names, or names with settings."""
    seeds: Seeds = 5
    """Number of seeds (0, 1, ...), or a list of seeds."""
    starts: dict[Name, Start] = {}
    """Initial Gaussians by name, each with a mean_scale and an init_scale, e.g.
    `{prior: {mean_scale: 0.0, init_scale: prior}}`. Each run is repeated from each of them, and
    solvers are compared start by start. They replace `mean_scale` and `init_scale`."""
    vary: dict[str, Annotated[list[Any], Field(min_length=1), AfterValidator(check_distinct)]] = {}
    """Further fields of the run to vary, with their values, e.g. `gamma: [0.5, 1.0]`."""
    cost: Literal["evaluations", "data_passes", "seconds", "iterations"] = "evaluations"
    """Cost by which tables, figures and the summary compare solvers: model evaluations (those of
    trial steps included), passes over the training rows, solver time or iterations."""
    gap: Literal["optimum", "best-seen"] = "optimum"
    """Reference of objective gaps; the paper uses `best-seen`."""
    score: Score = Score()
    """Settings of the tables and figures that score solvers over many targets."""
    tuning: Tuning = Tuning()
    """Settings of `step: tuned`."""
    exclusive: bool = False
    """Whether no other job may run at the same time, for timing."""
    pack: Count | Literal["auto"] = "auto"
    """Number of seeds per job, which run one after the other in one process. `auto` is 5 for runs
    of a few seconds, and 1 for longer runs, on GPUs and with `exclusive`. Unless it is 1, the named
    `starts` of a run share a job, too, except tuned ones. With `auto`, a job then has fewer
    seeds."""
    figures: Annotated[list[Figure], AfterValidator(check_distinct)] = [
        "gap",
        "test",
        "time",
        "test-time",
        "profile",
    ]
    """Figures to draw."""
    tables: Annotated[list[Table], AfterValidator(check_distinct)] = ["datasets", "performance"]
    """Tables to write."""

    def named_starts(self) -> list[dict[str, Any]]:
        """Return the named starts as plain data, in the order of the config."""
        return [{"name": name, **start.model_dump()} for name, start in self.starts.items()]


class Style(StrictModel):
    """Style of figures. Changing it re-runs only the figures."""

    width: Literal["column", "page"] = "page"
    """Width of figures: a column of a two-column paper, or the page."""
    font_size: Annotated[Number, Field(ge=1, le=30)] = 8.0
    """Font size in points."""
    center: Literal["median", "mean", "geometric"] = "median"
    """Centre of the seeds that lines show. Bands show the range from minimum to maximum."""


class Config(StrictModel):
    """Config file with one or more studies."""

    studies: Annotated[dict[StudyName, Study], Field(min_length=1)]
    """Studies by name."""
    results: Folder = "results"
    """Folder for all results; `~` is your home folder."""
    without: list[Name] = []
    """Data sets to exclude from all studies. A study with no other data set is excluded, too."""
    style: Style = Style()
    """Style of figures."""
    dask: DaskSettings | None = None
    """Workers for aggregation, tables and figures of large studies (default: the cores and the
    memory of the job)."""


def load_config(values: Mapping[str, Any], where: str = "config") -> Config:
    """Validate a config that has been read from a file."""
    return parse(Config, dict(values), where, names_at=_names_at)


def read_config(path: Path, overrides: Mapping[str, Any] | None = None) -> Config:
    """Read and validate a config file; `overrides` replace values at its top level."""
    from gvibench.study.yaml_file import read_yaml

    return load_config({**read_yaml(path), **(overrides or {})}, str(path))


def to_yaml(values: Mapping[str, Any]) -> str:
    """Return a config as YAML, with settings in the order of the documentation."""
    import yaml

    config = load_config(values)
    text: str = yaml.safe_dump(
        config.model_dump(mode="json", exclude_unset=True), sort_keys=False, allow_unicode=True
    )
    return text


def _names_at(place: tuple[int | str, ...]) -> Iterable[str]:
    """Return the valid keys at a location in a config."""
    models: dict[int | str, type[BaseModel]] = {
        "studies": Study,
        "datasets": DatasetSettings,
        "solvers": SolverSettings,
        "tuning": Tuning,
        "starts": Start,
        "score": Score,
        "targets": Targets,
        "style": Style,
        "dask": DaskSettings,
        "local": LocalWorkers,
        "slurm": SlurmWorkers,
        "workers": WorkerRange,
        "prior": model_of(PriorSettings),
        "LogGrid": LogGrid,
        "StepSettings": StepSettings,
        "steps": LogGrid,
    }
    nearest = [models[part] for part in place if part in models]
    return (nearest[-1] if nearest else Config).model_fields


MODELS: tuple[type[BaseModel], ...] = (
    Config,
    Study,
    DatasetSettings,
    SolverSettings,
    model_of(PriorSettings),
    Start,
    Tuning,
    LogGrid,
    *SCORE_MODELS,
    StepSettings,
    Style,
    *DASK_MODELS,
)
"""All models of a config."""
