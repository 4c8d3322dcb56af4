"""The run specification: everything that defines one run, and the hash that names it.

A `RunSpec` is complete: it holds values, never "the default of the day". Two runs with equal
specs, code and versions give equal traces, so `spec_hash` is what comparisons join on.
"""

import ast
import difflib
import hashlib
import inspect
import itertools
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from gvibench.errors import UserError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = [
    "EXTRA_RECORDS",
    "DataSpec",
    "ProblemSpec",
    "RunSpec",
    "canonical_json",
    "documentation",
    "explain",
    "hash_text",
    "hash_values",
    "parse",
    "suggest",
]

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[int | str, ...]
"""Where something is in a nested mapping."""


def _computable(value: float) -> float:
    # Squares of what lies outside overflow or vanish.
    if value != 0 and not 1e-100 <= abs(value) <= 1e100:
        raise ValueError("should lie between 1e-100 and 1e+100")
    return value


Positive = Annotated[float, Field(gt=0, allow_inf_nan=False), AfterValidator(_computable)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_computable)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Size = Count | Annotated[float, Field(gt=0, lt=1)]
Option = bool | int | float | str
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", max_length=80)]

MAX_SHOWN_CHARACTERS = 100
"""Characters of a wrong value that a message repeats."""

EXTRA_RECORDS = (
    "cov_eig_min",
    "cov_eig_max",
    "factor_norm",
    "sign_flips",
    "data_passes",
    "flow_time",
    "objective_exact",
    "covariance_factor",
    "covariance_factor_path",
)
"""What a run records only on request."""


class StrictModel(BaseModel):
    """Immutable, and strict about names: a misspelt key is an error, never ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DataSpec(StrictModel):
    """Which rows a run sees: the key of one prepared data file."""

    dataset: Name
    """A name of the catalogue, or any name for your own file at `path`."""
    path: str | None = None
    """Your own svmlight or `.npz` file."""
    test_path: str | None = None
    """The test rows of your own data, for `split: given`."""
    split: Literal["sklearn", "random", "first", "given"] = "sklearn"
    """`sklearn`: train_test_split as in the paper; `random`: stratified, one per `split_seed`;
    `first`: the first `train_size` rows train, the others test; `given`: its own test file."""
    split_seed: Annotated[int, Field(ge=0, lt=2**32)] = 42
    """Seed of the split (and of the row subsample, if any)."""
    train_size: Size | None = None
    """Training rows to keep, as a count or a fraction; nothing means all the split gives."""
    test_size: Size | None = None
    """Test rows to keep, as a count or a fraction; nothing means all the split gives."""
    scaling: Literal["none", "standardize"] = "none"
    """`standardize`: zero mean and unit variance, both taken from the training rows."""
    intercept: bool = False
    """Append a column of ones."""
    options: dict[str, Option] = {}
    """Settings of the data set itself: the binary task of `mnist`, the sizes of `synthetic`."""


class ProblemSpec(StrictModel):
    """What is minimised: all that an optimum depends on."""

    data: DataSpec
    model: Literal["logistic", "linear", "non-convex"] = "logistic"
    """`non-convex` is logistic with the penalty sum m_j^2 / (1 + m_j^2) on the mean. `linear` takes
    targets of your own files as real numbers, the others as two classes."""
    beta: NonNegative
    """Coefficient of |theta|^2 / 2 in the loss: the prior precision at gamma = 1."""
    gamma: NonNegative = 1.0
    """Temperature of the entropy: 1 is variational inference, 0 variational optimisation."""
    sigma: Positive = 1.0
    """Noise standard deviation of the linear model."""
    expectation: Literal["piecewise", "exact", "gauss-hermite", "stochastic"] = "exact"
    """How expectations under q are taken; `stochastic` draws rows and samples."""
    pieces: Annotated[int, Field(ge=3, le=200)] = 20
    """Pieces of the `piecewise` bound."""
    piece_degree: Literal["linear", "quadratic"] = "quadratic"
    """Degree of the pieces."""
    nodes: Annotated[int, Field(ge=1, le=200)] = 20
    """Nodes of `gauss-hermite`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.model == "linear" and self.expectation in {"piecewise", "gauss-hermite"}:
            raise ValueError("the linear model needs no approximation: use expectation 'exact'")
        return self

    USED_WITH: ClassVar[dict[str, tuple[str, str]]] = {
        "sigma": ("model", "linear"),
        "pieces": ("expectation", "piecewise"),
        "piece_degree": ("expectation", "piecewise"),
        "nodes": ("expectation", "gauss-hermite"),
        "batch": ("expectation", "stochastic"),
        "samples": ("expectation", "stochastic"),
    }
    """Fields that matter only with one value of another field."""

    def unused_fields(self) -> set[str]:
        """Return the fields that make no difference to this problem or run."""
        used_with = self.USED_WITH.items()
        return {name for name, (field, value) in used_with if getattr(self, field) != value}

    def without_unused(self) -> Self:
        """Return the same problem or run with the default of every field that it does not use."""
        fields = type(self).model_fields
        unused = {name: fields[name].default for name in self.unused_fields() if name in fields}
        return self.model_copy(update=unused)

    def with_exact_expectations(self) -> "ProblemSpec":
        """Return the problem that this one approximates."""
        return self.model_copy(update={"expectation": "exact"}).without_unused()

    def canonical(self) -> str:
        """Return the spec as JSON: sorted keys, no spaces, every field present."""
        return canonical_json(self)

    @property
    def spec_hash(self) -> str:
        """Sixteen hexadecimal digits that name this problem or run."""
        return hash_text(self.canonical())


class RunSpec(ProblemSpec):
    """Everything that defines one run."""

    batch: Count = 100
    """Rows per step of `stochastic`, drawn without replacement; at most all of them."""
    samples: Count = 10
    """Draws from q per step of `stochastic`, shared by the rows of the batch."""

    # The solver
    solver: Name
    """Which solver; `gvibench solvers` lists them."""
    solver_options: dict[str, Option] = {}
    """Settings of the solver itself."""
    form: Literal["auto", "dense", "reduced"] = "auto"
    """`reduced` solves in the span of the rows (exact); `auto` does so when d > n."""
    step: Positive
    """Step size (of `ng-flow`: the time between recorded points)."""
    step_decay: NonNegative = 0.0
    """The step of iteration k is `step / (1 + step_decay * k)`."""
    init_scale: Positive = 1.0
    """C0 = init_scale * I."""
    mean_scale: NonNegative = 1.0
    """m0 = mean_scale * default_rng(seed).standard_normal(d)."""
    seed: Seed = 0
    """Seed of m0 and of the draws of a stochastic run."""

    # Budget
    iterations: Annotated[int, Field(ge=0, le=10**9)] = 1000
    """Stop after this many iterations."""
    seconds: Positive | None = None
    """Stop once the solver (recording apart) has used this much time."""
    tolerance: NonNegative | None = None
    """Stop once the Fisher-Rao norm of the gradient of a recorded iterate is at most this."""

    # What to keep
    record_every: Count | Literal["log"] = 1
    """Record every k-th iterate, or about 200 of them spaced evenly in log(iteration)."""
    record: tuple[Literal[EXTRA_RECORDS], ...] = ()  # type: ignore[valid-type]
    """Further quantities to record."""
    snapshots: Annotated[int, Field(ge=0, le=10**6)] = 32
    """How many means to keep along the run (0: no iterates, not even the last)."""

    # Where
    threads: Annotated[int, Field(ge=1, le=4096)] = 1
    """BLAS threads."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to compute."""
    dtype: Literal["float64", "float32"] = "float64"
    """Floating-point type of the iterates."""

    @model_validator(mode="before")
    @classmethod
    def _accept_json_lists(cls, values: Any) -> Any:
        if isinstance(values, dict) and isinstance(values.get("record"), list):
            record = values["record"]
            if all(isinstance(name, str) for name in record):
                record = sorted(set(record))
            values = {**values, "record": tuple(record)}
        return values

    def problem(self) -> ProblemSpec:
        """Return the problem this run works on; a stochastic run's is the exact one."""
        values = {name: getattr(self, name) for name in ProblemSpec.model_fields}
        if self.expectation == "stochastic":
            values["expectation"] = "exact"
        return ProblemSpec(**values)


def canonical_json(model: BaseModel) -> str:
    """Return `model` as JSON with sorted keys, every field present and floats as `repr` prints."""
    return json.dumps(
        model.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), allow_nan=False
    )


def hash_values(values: Mapping[str, Any]) -> str:
    """Return the hash of a spec given as a mapping, in which fields may still be open (null)."""
    return hash_text(json.dumps(values, sort_keys=True, separators=(",", ":")))


def hash_text(text: str) -> str:
    """Return the first sixteen hexadecimal digits of the SHA-256 of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def parse(
    kind: type[Model],
    source: str | dict[str, Any],
    where: str,
    *,
    from_text: bool = False,
    names_at: Callable[[Location], Iterable[str]] | None = None,
) -> Model:
    """Validate JSON text or a mapping, turning the first mistake into one sentence.

    With `from_text` the values of a mapping may be words of a command line: "5e-3" is a number.
    `names_at` returns the right keys at a place, to suggest one for a wrong one.
    """
    try:
        if isinstance(source, str):
            return kind.model_validate_json(source)
        return kind.model_validate(source, strict=False if from_text else None)
    except ValidationError as error:
        known = names_at or (lambda place: [*kind.model_fields, *DataSpec.model_fields])
        raise UserError(f"{where}: {explain(error, known)}") from error


def explain(error: ValidationError, names_at: Callable[[Location], Iterable[str]]) -> str:
    """Say in one sentence what is wrong first: the key, the value, the nearest right name."""
    first = _most_telling(error.errors(include_url=False))
    path = _path(first)
    if first["type"] == "extra_forbidden":
        *place, name = first["loc"]
        return f"unknown key '{path}'{suggest(str(name), names_at(tuple(place)))}"
    if first["type"] == "missing":
        return f"'{path}' is missing"
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if first["type"] == "string_pattern_mismatch":
        message = "should begin with a letter or digit and have only letters, digits and _ . + -"
    message = message.replace(" after validation", "")
    given = first.get("input")
    if not path:
        return message
    if isinstance(given, dict):
        return f"{message} (at {path})"
    hint = ""
    expected = first.get("ctx", {}).get("expected")
    if isinstance(given, str) and expected:
        hint = suggest(given, re.findall(r"'([^']*)'", expected))
    return f"'{path}' {message[0].lower()}{message[1:]}, got {_shown(given)}{hint}"


def _shown(value: object) -> str:
    """Return a value for a message: not more of it than a person reads."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python prints no number of 5000 digits
        return f"{type(value).__name__} too large to show"
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"


def _most_telling(errors: "list[ErrorDetails]") -> "ErrorDetails":
    """Return the first error; of a union, where every branch complains, the one that fits best."""
    path = _path(errors[0])
    of_union = [error for error in errors if _path(error).startswith(path)]

    def rank(error: "ErrorDetails") -> int:
        wrong_type = error["type"].endswith(("_type", "_parsing"))
        given_text = isinstance(error.get("input"), str)
        if error["type"] in {"value_error", "extra_forbidden"}:
            return 0
        if error["type"] == "literal_error":
            return 1 if given_text else 3
        return 2 if wrong_type else 1

    return min(of_union, key=rank)


def _path(error: "ErrorDetails") -> str:
    return ".".join(str(part) for part in error["loc"] if not _is_union_branch(part))


def suggest(word: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'x'?)" for the known name nearest to `word`, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def documentation(kind: type[BaseModel]) -> dict[str, str]:
    """Return what the docstrings under the fields of a model say, by field.

    Read from the source on demand: Pydantic can do so too, but at every start.
    """
    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        if not issubclass(owner, BaseModel) or owner is BaseModel:
            continue
        try:
            source = inspect.getsource(owner)
        except (OSError, TypeError):  # made by a program, not written
            continue
        tree = ast.parse(textwrap.dedent(source)).body[0]
        assert isinstance(tree, ast.ClassDef)
        for field, text in itertools.pairwise(tree.body):
            match field, text:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str() as words)),
                ):
                    found[name] = " ".join(words.split())
    return {name: found.get(name, "") for name in kind.model_fields}


def _is_union_branch(part: int | str) -> bool:
    # Pydantic adds the branch of a union it tried: "constrained-int", "literal['log']", "LogGrid".
    branches = {"int", "float", "str", "bool", "LogGrid"}
    return isinstance(part, str) and ("constrained-" in part or "[" in part or part in branches)
