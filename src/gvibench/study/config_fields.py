"""Types of the settings in a config, with the values they accept."""

import math
import posixpath
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticKnownError

from gvibench.registry import FIGURES, MODELS, STEP_RULES, TABLES, Registry
from gvibench.spec.fields import Name, Positive, Seed
from gvibench.spec.validate import StrictModel

__all__ = [
    "MAX_RUNS",
    "DrawsFile",
    "Figure",
    "Folder",
    "LogGrid",
    "Model",
    "Number",
    "Numbers",
    "Scales",
    "Seeds",
    "Share",
    "StepSettings",
    "Steps",
    "StudyName",
    "Table",
    "Title",
    "check_distinct",
    "check_number",
]


def check_number(value: Any) -> Any:
    """Raise ValueError for a number that YAML reads as text."""
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value
        if math.isfinite(number):
            raise ValueError(f"is text in YAML: write {_yaml_number(value)}")
    return value


def _yaml_number(text: str) -> str:
    """Return a number as YAML 1.1 reads it: with a point, and a sign before the exponent."""
    mantissa, has_exponent, exponent = text.strip().lower().replace("_", "").partition("e")
    mantissa = mantissa if "." in mantissa else f"{mantissa}.0"
    if not has_exponent:
        return f"{mantissa} without quotes"
    return f"{mantissa}e{exponent if exponent[:1] in {'+', '-'} else f'+{exponent}'}"


def check_distinct(values: list[Any]) -> list[Any]:
    """Raise ValueError if a value occurs twice."""
    for position, value in enumerate(values):
        if value in values[:position]:
            raise ValueError(f"contains {value} twice")
    return values


MAX_RUNS = 100_000
"""Maximum number of runs in one config."""

Number = Annotated[Positive, BeforeValidator(check_number, json_schema_input_type=float)]
Share = Annotated[
    float, Field(gt=0, lt=1), BeforeValidator(check_number, json_schema_input_type=float)
]
Numbers = Annotated[list[Number], Field(min_length=1), AfterValidator(check_distinct)]


class LogGrid(StrictModel):
    """Numbers spaced evenly on a logarithmic scale."""

    start: Number
    """Smallest number."""
    stop: Number
    """Largest number."""
    count: Annotated[int, Field(ge=2, le=1000)]
    """How many numbers, including both ends."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.start >= self.stop:
            raise ValueError(f"'start' {self.start:g} should be less than 'stop' {self.stop:g}")
        return self

    def values(self) -> list[float]:
        """Return the numbers, rounded to six digits to keep labels short."""
        ratio = self.stop / self.start
        exponents = [k / (self.count - 1) for k in range(self.count)]
        return [float(f"{self.start * ratio**exponent:.6g}") for exponent in exponents]


def _name_in(registry: Registry, *words: str) -> BeforeValidator:
    """Accept the words and all installed objects; the schema lists the built-in ones."""

    def check(value: Any) -> Any:
        known = [*words, *registry.names()]
        if isinstance(value, str) and value not in known:
            quoted = [f"'{name}'" for name in known]
            expected = f"{', '.join(quoted[:-1])} or {quoted[-1]}"
            raise PydanticKnownError("literal_error", {"expected": expected})
        return value

    listed = (*words, *registry.built_in)
    return BeforeValidator(check, json_schema_input_type=Literal[listed])


StepSizes = Literal["paper", "tuned"] | Number | Numbers | LogGrid


class StepSettings(StrictModel):
    """Step rule with its settings, which are further keys: `{rule: auto, shrink: 0.3}`."""

    model_config = ConfigDict(extra="allow")

    rule: Annotated[str, _name_in(STEP_RULES)]
    """Name of the step rule; `gvibench solvers` lists the available ones."""
    step: StepSizes | None = None
    """Step size as in `step`. For `auto`, it is the first one tried."""


def _kind_of_mapping(value: Any) -> str:
    is_rule = isinstance(value, StepSettings) or (isinstance(value, dict) and "rule" in value)
    return "StepSettings" if is_rule else "LogGrid"


StepMapping = Annotated[
    Annotated[LogGrid, Tag("LogGrid")] | Annotated[StepSettings, Tag("StepSettings")],
    Discriminator(_kind_of_mapping),
]
StepWord = Annotated[str, _name_in(STEP_RULES, "paper", "tuned")]
Steps = Number | Numbers | StepMapping | StepWord
Scales = Number | Numbers
Seeds = (
    Annotated[int, Field(ge=1, le=MAX_RUNS)]
    | Annotated[list[Seed], Field(min_length=1), AfterValidator(check_distinct)]
)


def _check_one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("should be one line without control characters")
    return text


Figure = Annotated[str, _name_in(FIGURES)]
Model = Annotated[str, _name_in(MODELS)]
Table = Annotated[str, _name_in(TABLES)]


def _check_study_name(name: str) -> str:
    if name in SHARED_FOLDERS:
        raise ValueError("is a folder that all studies share: choose another name for the study")
    return name


def _check_folder(path: str) -> str:
    # Snakemake reads braces as wildcards, and a leading dash looks like an option.
    if not path.isprintable() or set(path) & set("{}") or path.startswith("-"):
        raise ValueError("should be a path without braces, line breaks or a leading dash")
    usable = posixpath.normpath(posixpath.expanduser(path)) if path else "."
    if usable == "." or usable.startswith("//") or usable == "/":
        raise ValueError("should be a folder other than the current one or the root")
    return usable


def _check_draws_file(path: str) -> str:
    if not path.isprintable() or set(path) & set("{}") or not path.endswith((".npz", ".nc")):
        raise ValueError("should be the path of a file that ends with .npz or .nc, without braces")
    return path


SHARED_FOLDERS = ("data", "optima", "logs")
"""Folders beside the studies in the results folder."""
StudyName = Annotated[Name, AfterValidator(_check_study_name)]
Title = Annotated[str, Field(max_length=300), AfterValidator(_check_one_line)]
DrawsFile = Annotated[str, Field(max_length=1000), AfterValidator(_check_draws_file)]
Folder = Annotated[str, Field(max_length=1000), AfterValidator(_check_folder)]
