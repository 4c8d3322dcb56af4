"""The study configuration: what to run, said once.

The Pydantic models below are the only description of a config file. They check it, their
docstrings document it, and `gvibench.study.plan` expands them into run specs.

Settings may stand at three places, the nearest to the run wins: the study, the data set, the
solver; and, nearest of all, the solver within a data set.
"""

import math
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    create_model,
    model_validator,
)
from pydantic_core import PydanticKnownError

from gvibench import figures, tables
from gvibench.spec.run import (
    Count,
    DataSpec,
    Name,
    NonNegative,
    Option,
    Positive,
    RunSpec,
    Seed,
    StrictModel,
    parse,
)

__all__ = [
    "MAX_RUNS",
    "MODELS",
    "Config",
    "DatasetSettings",
    "LogGrid",
    "SolverSettings",
    "Study",
    "Tuning",
    "load_config",
    "read_config",
    "to_yaml",
]


def _is_number(value: Any) -> Any:
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value
        if math.isfinite(number):
            raise ValueError(f"is text to YAML, which wants {_yaml_number(value)} for a number")
    return value


def _yaml_number(text: str) -> str:
    """Return a number as YAML 1.1 reads it: with a point, and a sign before the exponent."""
    mantissa, has_exponent, exponent = text.strip().lower().replace("_", "").partition("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    if not has_exponent:
        return f"{mantissa}, without quotes,"
    return f"{mantissa}e{exponent if exponent[:1] in {'+', '-'} else f'+{exponent}'}"


def _distinct(values: list[Any]) -> list[Any]:
    for position, value in enumerate(values):
        if value in values[:position]:
            raise ValueError(f"names {value} twice")
    return values


MAX_RUNS = 100_000
"""More than this in one config is a slip of the pen."""

Number = Annotated[Positive, BeforeValidator(_is_number, json_schema_input_type=float)]
Numbers = Annotated[list[Number], Field(min_length=1), AfterValidator(_distinct)]


class LogGrid(StrictModel):
    """Numbers spaced evenly on a logarithmic scale."""

    start: Number
    """The smallest."""
    stop: Number
    """The largest."""
    count: Annotated[int, Field(ge=2, le=1000)]
    """How many, both ends included."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.start >= self.stop:
            raise ValueError(f"'start' {self.start:g} should be less than 'stop' {self.stop:g}")
        return self

    def values(self) -> list[float]:
        """Return the numbers, rounded to six digits so that their names stay short."""
        ratio = self.stop / self.start
        exponents = [k / (self.count - 1) for k in range(self.count)]
        return [float(f"{self.start * ratio**exponent:.6g}") for exponent in exponents]


Steps = Literal["paper", "tuned"] | Number | Numbers | LogGrid
Scales = Number | Numbers
Seeds = (
    Annotated[int, Field(ge=1, le=MAX_RUNS)]
    | Annotated[list[Seed], Field(min_length=1), AfterValidator(_distinct)]
)

# Every field of a run may be set at every level, except those that say which run it is.
_ELSEWHERE = {"data", "solver", "solver_options", "beta", "step", "init_scale", "seed", "record"}


def _optional(model: type[BaseModel], without: set[str]) -> dict[str, Any]:
    """Return the fields of a model with their constraints, each of them optional."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name not in without:
            kind: Any = field.annotation
            for constraint in field.metadata:
                kind = Annotated[kind, constraint]
            if "float" in str(field.annotation):
                kind = Annotated[kind, BeforeValidator(_is_number, json_schema_input_type=float)]
            fields[name] = (kind | None, None)
    return fields


_RunFields: Any = create_model(
    "_RunFields", __base__=StrictModel, **_optional(RunSpec, without=_ELSEWHERE)
)


class Settings(_RunFields):
    """What may be set for a whole study, for a data set and for a solver."""

    beta: Literal["tuned"] | Annotated[NonNegative, BeforeValidator(_is_number)] | None = None
    """Coefficient of |theta|^2 / 2 in the loss: a number, or `tuned` on a validation part of the
    training rows (default: the data set's own)."""
    step: Steps | None = None
    """A number, a list, a grid, `paper` (the paper's) or `tuned` (by the tuning stage)."""
    init_scale: Scales | None = None
    """C0 = init_scale * I: a number or a list. A tuned step brings its own."""
    record: Annotated[list[str], AfterValidator(_distinct)] | None = None
    """Further quantities to record."""


class SolverSettings(Settings):
    """A solver in a study; its key is the name under which it appears."""

    solver: Name | None = None
    """The solver's id, if it is not the key: the same solver may appear with several options."""
    options: dict[str, Option] = {}
    """Settings of the solver itself."""


_DataFields: Any = create_model(
    "_DataFields", __base__=Settings, **_optional(DataSpec, without={"dataset", "options"})
)


class DatasetSettings(_DataFields):
    """A data set in a study; its key is the name under which it appears."""

    dataset: Name | None = None
    """The name in the catalogue, if it is not the key: a set may appear with several splits."""
    options: dict[str, Option] = {}
    """Settings of the data set itself."""
    solvers: dict[Name, SolverSettings] = {}
    """What a solver does differently on this data set."""


class Tuning(StrictModel):
    """How `step: tuned` finds a step and an initial scale, each solver on its own."""

    steps: LogGrid = LogGrid(start=1e-4, stop=1.0, count=5)
    """The first grid of steps; a grid of one value is kept."""
    init_scales: Numbers = [0.1, 1.0]
    """The first grid of initial scales; a grid of one value is kept."""
    rounds: Annotated[int, Field(ge=1, le=10)] = 2
    """How many grids are tried: each after the first refines the one before around its best point.
    Within a round, the grid is extended while the best point is at an edge, up to four times there.
    """
    iterations: Count | None = None
    """Budget of each trial (default: that of the run; shorter trials may choose a step that is
    best at first and not in the end)."""
    seeds: Annotated[list[Seed], Field(min_length=1), AfterValidator(_distinct)] = [1000, 1001]
    """Seeds of the trials; none may be a seed of the study."""
    rows: Annotated[int, Field(ge=2, le=10**9)] | None = None
    """Tune on so many training rows, drawn at random, of larger data sets, each counting for as
    many as it stands for (default: all of them)."""
    prefer: Literal["safe", "quick"] = "safe"
    """Among steps that arrive: `quick` takes the one that does so first; `safe` one that arrives
    from more initial scales, unless it takes ten times as long."""
    betas: Numbers = [0.001, 0.01, 0.1, 1.0, 10.0]
    """What `beta: tuned` chooses from; the smallest or largest as choice is noted in the report."""


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("should be one line without control characters")
    return text


def _to_mapping(value: Any) -> Any:
    """Let a plain list of names stand for a mapping without settings."""
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return {name: {} for name in _distinct(value)}
    if isinstance(value, Mapping):
        return {name: {} if settings is None else settings for name, settings in value.items()}
    return value


def _name_in(kind: Any) -> BeforeValidator:
    """Accept every figure or table that is installed; the schema lists those that always are."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and value not in kind.MODULES and value not in kind.names():
            known = [f"'{name}'" for name in kind.names()]
            expected = f"{', '.join(known[:-1])} or {known[-1]}"
            raise PydanticKnownError("literal_error", {"expected": expected})
        return value

    return BeforeValidator(check, json_schema_input_type=Literal[tuple(kind.MODULES)])


Figure = Annotated[str, _name_in(figures)]
Table = Annotated[str, _name_in(tables)]


class Study(Settings):
    """One study: data sets × solvers × steps × initial scales × seeds."""

    title: Annotated[str, Field(max_length=300), AfterValidator(_one_line)] = ""
    """For people."""
    datasets: Annotated[
        dict[Name, DatasetSettings],
        Field(min_length=1),
        BeforeValidator(
            _to_mapping, json_schema_input_type=list[Name] | dict[Name, DatasetSettings | None]
        ),
    ]
    """Names, or names with settings."""
    solvers: Annotated[
        dict[Name, SolverSettings],
        Field(min_length=1),
        BeforeValidator(
            _to_mapping, json_schema_input_type=list[Name] | dict[Name, SolverSettings | None]
        ),
    ]
    """Names, or names with settings."""
    seeds: Seeds = 5
    """How many initialisations (0, 1, ...), or which."""
    vary: dict[str, Annotated[list[Any], Field(min_length=1), AfterValidator(_distinct)]] = {}
    """Further fields of the run to vary, each with its values: `gamma: [0.5, 1.0]`."""
    gap: Literal["optimum", "best-seen"] = "optimum"
    """What gaps of the objective are measured from; `best-seen` is the paper's way."""
    tuning: Tuning = Tuning()
    """How `step: tuned` chooses."""
    exclusive: bool = False
    """Whether a run may have no other job beside it, for timing."""
    pack: Count = 1
    """How many seeds run in one job, short steps at once; pays for thousands of tiny runs."""
    figures: Annotated[list[Figure], AfterValidator(_distinct)] = [
        "gap",
        "test",
        "time",
        "test-time",
        "profile",
    ]
    """Which figures to draw."""
    tables: Annotated[list[Table], AfterValidator(_distinct)] = ["datasets", "performance"]
    """Which tables to write."""


def _free_name(name: str) -> str:
    if name in SHARED_FOLDERS:
        raise ValueError(f"is a folder that all studies share: call the study other than '{name}'")
    return name


def _usable_folder(path: str) -> str:
    # Snakemake takes braces for wildcards; a leading dash would look like an option.
    if not path.isprintable() or set(path) & set("{}") or path.startswith("-"):
        raise ValueError("should be a path without braces, line breaks or a leading dash")
    usable = posixpath.normpath(posixpath.expanduser(path)) if path else "."
    if usable == "." or usable.startswith("//") or usable == "/":
        raise ValueError("should name a folder of its own")
    return usable


SHARED_FOLDERS = ("data", "optima", "logs")
"""What stands beside the studies in the results folder."""
StudyName = Annotated[Name, AfterValidator(_free_name)]
Folder = Annotated[str, Field(max_length=1000), AfterValidator(_usable_folder)]


class Style(StrictModel):
    """How figures look; changing it draws them again and runs nothing else."""

    width: Literal["column", "page"] = "page"
    """As wide as a column of a two-column paper, or as the page."""
    font_size: Annotated[Number, Field(ge=1, le=30)] = 8.0
    """In points."""
    center: Literal["median", "mean", "geometric"] = "median"
    """What lines show over the seeds; bands reach from the smallest to the largest value."""


class DaskOnSlurm(StrictModel):
    """Dask workers of one core each; needs `gvibench[slurm]`."""

    workers: Annotated[int, Field(ge=1)] = 4
    """How many."""
    memory: str = "2GB"
    """Of each."""
    walltime: str = "01:00:00"
    """Of each."""
    partition: str | None = None
    """Default: Slurm's."""
    account: str | None = None
    """Default: Slurm's."""


class Dask(StrictModel):
    """The Dask cluster that traces are aggregated on: a running one, or one made for it."""

    scheduler_address: str | None = None
    """Of a running Dask cluster whose workers see the same files: `tcp://host:8786`."""
    slurm: DaskOnSlurm | None = None
    """Workers that Slurm starts for the aggregation."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.scheduler_address is None) == (self.slurm is None):
            raise ValueError("takes either 'scheduler_address' or 'slurm'")
        return self


class Config(StrictModel):
    """A config file: one study or several."""

    studies: Annotated[dict[StudyName, Study], Field(min_length=1)]
    """The studies, by name."""
    results: Folder = "results"
    """Folder for everything a study makes; `~` is your home."""
    without: list[Name] = []
    """Data sets to leave out of every study; a study with none left is left out itself."""
    style: Style = Style()
    """How figures look."""
    dask: Dask | None = None
    """Dask cluster to aggregate on, `{scheduler_address: tcp://host:8786}` or
    `{slurm: {workers: 4}}` (default: this machine)."""


def load_config(values: Mapping[str, Any], where: str = "config") -> Config:
    """Check a config that has been read from a file."""
    return parse(Config, dict(values), where, names_at=_names_at)


def read_config(path: Path, overrides: Mapping[str, Any] | None = None) -> Config:
    """Read and check a config file; `overrides` replace values at its top level."""
    from gvibench.study.yaml_file import read_yaml

    return load_config({**read_yaml(path), **(overrides or {})}, str(path))


def to_yaml(values: Mapping[str, Any]) -> str:
    """Return a config as text, its settings in the order of the documentation."""
    import yaml

    config = load_config(values)
    text: str = yaml.safe_dump(
        config.model_dump(mode="json", exclude_unset=True), sort_keys=False, allow_unicode=True
    )
    return text


def _names_at(place: tuple[int | str, ...]) -> Iterable[str]:
    """Return the keys that may stand at a place of a config."""
    models: dict[int | str, type[BaseModel]] = {
        "studies": Study,
        "datasets": DatasetSettings,
        "solvers": SolverSettings,
        "tuning": Tuning,
        "style": Style,
        "dask": Dask,
        "slurm": DaskOnSlurm,
        "step": LogGrid,
        "steps": LogGrid,
    }
    nearest = [models[part] for part in place if part in models]
    return (nearest[-1] if nearest else Config).model_fields


MODELS: tuple[type[BaseModel], ...] = (
    Config,
    Study,
    DatasetSettings,
    SolverSettings,
    Tuning,
    LogGrid,
    Style,
    Dask,
    DaskOnSlurm,
)
"""Everything a config may contain."""
