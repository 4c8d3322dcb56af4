"""Specifications of data, problems and runs, and the hashes that identify them.

A `RunSpec` is complete: it contains all values, including those the user left at their defaults.
Two runs with equal specs, code and versions produce equal traces, so comparisons join runs on
`spec_hash`. Specs are plain dataclasses. Input from users goes through `gvibench.spec.validate`;
what the plan wrote, a job reads with `from_dict`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

from gvibench.spec.fields import (
    Condition,
    Count,
    Label,
    Name,
    NonNegative,
    Option,
    Positive,
    Range,
    Seed,
    Size,
)
from gvibench.spec.metrics import EXTRA_RECORDS
from gvibench.spec.prior import PriorSettings
from gvibench.spec.specs import Spec

__all__ = ["LOG_POINTS", "DataSpec", "ProblemSpec", "RunSpec", "group_names"]

LOG_POINTS = 200
"""Number of records of a logarithmic schedule, before duplicates are removed."""


@dataclass(frozen=True, kw_only=True)
class DataSpec(Spec):
    """Rows that a run uses. Each DataSpec has one prepared data file."""

    dataset: Name
    """Name of a data set in the catalogue, or any other name for your own file at `path`."""
    path: str | None = None
    """Your own file: CSV with any delimiter, Parquet, `.npz` with the arrays `X` and `y`, or
    svmlight (LIBSVM)."""
    test_path: str | None = None
    """File with the test rows of your own data, for `split: given`."""
    split: Literal["sklearn", "random", "first", "given", "none"] = "sklearn"
    """`sklearn`: train_test_split as in the paper; `random`: stratified, one split per
    `split_seed`; `first`: the first `train_size` rows are for training, the others for testing;
    `given`: the data set's own test file; `none`: all rows are for training."""
    split_seed: Annotated[int, Range(ge=0, lt=2**32)] = 42
    """Seed of the split and of the row subsample, if there is one."""
    train_size: Size | None = None
    """Number or fraction of rows for training (default: all rows of that part of the split)."""
    test_size: Size | None = None
    """Number or fraction of rows for testing (default: all rows of that part of the split)."""
    scale: Literal["none", "standardize"] = "none"
    """`standardize`: zero mean and unit variance, both computed from the training rows."""
    intercept: bool = False
    """Append a column of ones."""
    target: Label | None = None
    """Column with the targets of your own CSV or Parquet file (default: the last column)."""
    positive: Label | None = None
    """Label of your own file that becomes +1 (default: the larger one, or the last one in
    alphabetical order)."""
    drop: tuple[Label, ...] = ()
    """Columns of your own file to leave out."""
    categorical: tuple[Label, ...] = ()
    """Columns of your own file with codes instead of quantities, e.g. postal codes. Like text
    columns, they become one column of zeros and ones per level, except the first level."""
    offset: Label | None = None
    """Column of your own file that is added to the linear predictor, e.g. a log exposure."""
    options: dict[str, Option] = field(default_factory=dict)
    """Settings of the data set itself: the binary task of `mnist`, the sizes of `synthetic`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("drop", "categorical"):  # the order does not matter
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))


@dataclass(frozen=True, kw_only=True)
class ProblemSpec(Spec):
    """Objective to minimise: everything that an optimum depends on."""

    data: DataSpec
    model: Name = "logistic"
    """Name of the model: `logistic` and `probit` for two classes, `linear` for real targets,
    `poisson` for counts, and `non-convex`, which is logistic with the penalty
    sum m_j^2 / (1 + m_j^2) on the mean. `gvibench models` lists the available ones."""
    beta: NonNegative
    """Coefficient of |theta|^2 / 2 in the loss: the prior precision at gamma = 1."""
    prior: PriorSettings | None = None
    """Mean and precision of a Gaussian prior that differs from N(0, I / beta), e.g.
    `{precision: {intercept: 0.01}}`."""
    basis_condition: Condition = 1.0
    """Condition number of a random linear change of coordinates, which maps the rows, the prior and
    the start. The problem stays the same, and 1 means no change. Means and factors of a trace are
    in the new coordinates."""
    gamma: NonNegative = 1.0
    """Temperature of the entropy: 1 is variational inference, 0 variational optimisation."""
    sigma: Positive = 1.0
    """Noise standard deviation of the linear model."""
    expectation: Literal["piecewise", "exact", "gauss-hermite", "stochastic"] = "exact"
    """Method for expectations under q; `stochastic` samples rows and parameters."""
    pieces: Annotated[int, Range(ge=3, le=200)] = 20
    """Number of pieces of the `piecewise` bound."""
    piece_degree: Literal["linear", "quadratic"] = "quadratic"
    """Degree of the pieces."""
    nodes: Annotated[int, Range(ge=1, le=200)] = 20
    """Number of nodes of `gauss-hermite`."""

    USED_WITH: ClassVar[dict[str, tuple[str, str]]] = {
        "sigma": ("model", "linear"),
        "pieces": ("expectation", "piecewise"),
        "piece_degree": ("expectation", "piecewise"),
        "nodes": ("expectation", "gauss-hermite"),
        "batch": ("expectation", "stochastic"),
        "samples": ("expectation", "stochastic"),
        "minibatches": ("expectation", "stochastic"),
        "estimator": ("expectation", "stochastic"),
    }
    """Fields that matter only with one value of another field."""

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the spec that `to_dict` describes; its values have been validated before."""
        if not isinstance(values.get("data"), Mapping):
            raise ValueError("a spec has no data")
        nested: dict[str, Any] = {"data": DataSpec.from_dict(values["data"])}
        if isinstance(values.get("prior"), Mapping):
            nested["prior"] = PriorSettings.from_dict(values["prior"])
        return super().from_dict({**values, **nested})

    def __post_init__(self) -> None:
        super().__post_init__()
        # Equal priors must have equal specs: one number for all features is beta.
        prior = self.prior
        if prior is not None and isinstance(prior.precision, float):
            object.__setattr__(self, "beta", prior.precision)
            prior = prior.replace(precision=None)
        if prior is not None and prior.is_default:
            prior = None
        object.__setattr__(self, "prior", prior)

    @property
    def penalises(self) -> bool:
        """Whether the prior is not flat everywhere. With a flat prior, there may be no optimum."""
        return self.beta > 0 if self.prior is None else self.prior.penalises(self.beta)

    def scaled(self, share: float) -> Self:
        """Return the problem or run with the precision and gamma multiplied by a number."""
        prior = None if self.prior is None else self.prior.scaled(share)
        return self.replace(beta=share * self.beta, gamma=share * self.gamma, prior=prior)

    @property
    def is_rotation_invariant(self) -> bool:
        """Whether prior and coordinates are invariant to rotations, which a reduction needs."""
        return self.prior is None and self.basis_condition == 1

    def unused_fields(self) -> set[str]:
        """Return the fields that make no difference to this problem or run."""
        used_with = self.USED_WITH.items()
        return {name for name, (field, value) in used_with if getattr(self, field) != value}

    def without_unused(self) -> Self:
        """Return the same problem or run with the unused fields at their defaults."""
        fields = [field for field in dataclasses.fields(self) if field.name in self.unused_fields()]
        return self.replace(**{field.name: field.default for field in fields})

    def with_exact_expectations(self) -> Self:
        """Return the problem that this one approximates."""
        return self.replace(expectation="exact").without_unused()


@dataclass(frozen=True, kw_only=True)
class RunSpec(ProblemSpec):
    """Everything that defines one run."""

    batch: Count | Literal["all"] = 100
    """Rows per step of `stochastic`, drawn without replacement; at most all of them."""
    samples: Count = 10
    """Draws from q per step of `stochastic`, shared by the rows of the batch."""
    minibatches: Literal["independent", "epoch"] = "independent"
    """`independent` draws the rows of each step from all rows; `epoch` goes through all rows
    in random order before it uses a row again. The last batch of an epoch may be smaller."""
    estimator: Literal["price", "reparam", "stl"] = "price"
    """Estimator of the curvature of `stochastic`: `price` averages Hessians at the draws, `reparam`
    uses gradients along the path of the draws, and `stl` leaves out the score of q (sticking the
    landing)."""

    # The solver
    solver: Name
    """Name of the solver; `gvibench solvers` lists the available ones."""
    solver_options: dict[str, Option] = field(default_factory=dict)
    """Settings of the solver itself."""
    form: Literal["auto", "dense", "reduced"] = "auto"
    """`reduced` solves in the span of the rows (exact); `auto` does so when d > n."""
    step: Positive
    """Step size. Of `ng-flow` it is the time between recorded points, of step rule `auto` the
    first step that it tries."""
    step_rule: Name = "constant"
    """Rule that chooses the size of each step."""
    step_options: dict[str, Option] = field(default_factory=dict)
    """Settings of the step rule."""
    init_scale: Positive = 1.0
    """Scale of the initial covariance factor, C0 = init_scale * I."""
    mean_scale: NonNegative = 1.0
    """Scale of the initial mean, m0 = mean_scale * default_rng(seed).standard_normal(d)."""
    seed: Seed = 0
    """Seed of m0 and of the draws of a stochastic run."""

    # Budget
    iterations: Annotated[int, Range(ge=0, le=10**9)] = 1000
    """Maximum number of iterations."""
    seconds: Positive | None = None
    """Maximum solver time in seconds, recording not counted."""
    passes: Positive | None = None
    """Maximum number of passes over the training rows, those of trial steps included. Each draw of
    a stochastic run is a pass over its rows."""
    tolerance: NonNegative | None = None
    """Stop when the Fisher-Rao norm of the gradient at a recorded iterate is at most this."""

    # Recording
    record_every: Count | Literal["log"] = 1
    """Record every k-th iterate, or about 200 iterates spaced evenly in log(iteration)."""
    test_every: Count | Literal["log"] = "log"
    """Evaluate test metrics at every k-th recorded iterate, or at about 200 recorded iterates
    spaced evenly in log(iteration). Other records except the first and the last one have NaN."""
    record: tuple[Literal[EXTRA_RECORDS], ...] = ()  # type: ignore[valid-type]
    """Further quantities to record."""
    snapshots: Annotated[int, Range(ge=0, le=10**6)] = 32
    """Number of means stored along the run (0: no iterates, not even the last)."""

    # Machine
    threads: Annotated[int, Range(ge=1, le=4096)] = 1
    """BLAS threads."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Device that computes the run."""
    dtype: Literal["float64", "float32"] = "float64"
    """Floating-point type of the iterates."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "record", tuple(sorted(set(self.record))))

    @property
    def max_records(self) -> int:
        """Maximum number of records: the schedule, the start, and the iterate at which it ends."""
        every = self.record_every
        scheduled = LOG_POINTS if every == "log" else self.iterations // every
        return min(scheduled + 2, self.iterations + 1)

    def problem(self) -> ProblemSpec:
        """Return the problem of this run; a stochastic run has the exact problem."""
        values = {name: getattr(self, name) for name in ProblemSpec.names()}
        if self.expectation == "stochastic":
            values["expectation"] = "exact"
        return ProblemSpec(**values)


def group_names(runs: Sequence[tuple[Any, Any, int]]) -> list[str]:
    """Return the names of the groups of runs in a file with several runs.

    Parameters
    ----------
    runs
        Scale of the initial mean, initial scale and seed of each run. Names have the first two only
        if they differ between the runs.
    """
    if len({(mean, scale) for mean, scale, _ in runs}) == 1:
        return [f"seed-{seed}" for *_, seed in runs]
    return [f"mean-{mean!r}_scale-{scale!r}_seed-{seed}" for mean, scale, seed in runs]
