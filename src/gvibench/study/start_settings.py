"""Pydantic models of the settings of a study that choose starts and steps."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from gvibench.spec.fields import Count, NonNegative, Positive, Seed
from gvibench.spec.validate import StrictModel
from gvibench.study.config_fields import LogGrid, Numbers, check_distinct, check_number

__all__ = ["Start", "Tuning"]


class Start(StrictModel):
    """Initial Gaussian of a study with named starts."""

    mean_scale: Annotated[NonNegative, BeforeValidator(check_number)]
    """Scale of the initial mean, m0 = mean_scale * default_rng(seed).standard_normal(d)."""
    init_scale: Literal["prior"] | Annotated[Positive, BeforeValidator(check_number)]
    """Scale of the initial covariance factor, C0 = init_scale * I; `prior` is that of the prior,
    1 / sqrt(beta)."""


class Tuning(StrictModel):
    """Settings of `step: tuned`, which tunes step and initial scale of each solver separately."""

    search: Literal["grid", "quasi-random"] = "grid"
    """`grid` tries grids and refines them; `quasi-random` tries points of a fixed sequence that
    fills the ranges of `steps` and `init_scales` evenly on a logarithmic scale."""
    steps: LogGrid = LogGrid(start=1e-4, stop=1.0, count=5)
    """First grid of step sizes, or the range of a quasi-random search, which does not use its
    `count`."""
    init_scales: Numbers = [0.1, 1.0]
    """First grid of initial scales, or values in the range of a quasi-random search. A single value
    stays fixed. Named starts (`starts`) have their own initial scale, which is not tuned."""
    trials: Annotated[int, Field(ge=1, le=10_000)] = 8
    """Number of points of a quasi-random search."""
    first_trial: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Index of the first point of a quasi-random search. Searches of distinct points are
    repetitions of the tuning."""
    rounds: Annotated[int, Field(ge=1, le=10)] = 2
    """Number of grids. Each grid after the first one refines the previous grid around its best
    point. Within a round, the grid is extended while the best point is at an edge, up to four times
    per edge."""
    iterations: Count | None = None
    """Iterations of each trial (default: those of the run). Shorter trials may choose a step that
    is best at first and not in the end."""
    seeds: Annotated[list[Seed], Field(min_length=1), AfterValidator(check_distinct)] = [1000, 1001]
    """Seeds of the trials, which must differ from the seeds of the study."""
    rows: Annotated[int, Field(ge=2, le=10**9)] | Literal["held-out"] | None = None
    """Maximum number of training rows for tuning, drawn at random and weighted to represent all
    rows, or `held-out`: trials use the test rows instead of the training rows (default: all
    training rows)."""
    prefer: Literal["safe", "quick"] = "safe"
    """Choice among steps that reach the best objective: `quick` takes the fastest one; `safe` takes
    one that reaches it from more initial scales, unless it takes ten times as long."""
    betas: Numbers = [0.001, 0.01, 0.1, 1.0, 10.0]
    """Candidates of `beta: tuned`. The report notes a choice of the smallest or largest one."""
