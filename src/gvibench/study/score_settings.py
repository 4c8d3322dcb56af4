"""Settings of scores in a config."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from gvibench.spec.scoring import ScoreSettings, target_grid
from gvibench.spec.validate import StrictModel
from gvibench.study.config_fields import Number

__all__ = ["SCORE_MODELS", "Score", "Targets"]


class Targets(StrictModel):
    """Objective gaps spaced evenly on a logarithmic scale, largest first."""

    start: Number = 100.0
    """Largest gap in nats."""
    stop: Number = 1.0e-8
    """Smallest gap in nats."""
    count: Annotated[int, Field(ge=2, le=200)] = 21
    """How many gaps, including both ends."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.start <= self.stop:
            raise ValueError(f"'start' {self.start:g} should be more than 'stop' {self.stop:g}")
        return self


class Score(StrictModel):
    """Settings of the tables and figures that score solvers over many targets."""

    targets: Targets = Targets()
    """Objective gaps that solvers should reach."""
    budget: Number = 1000.0
    """Largest cost, in the `cost` of the study. A target that is reached later counts as not
    reached. With `cost: seconds`, set both ends."""
    least: Number = 1.0
    """Smallest cost. A target that is reached earlier counts as reached at this cost."""
    draws: Annotated[int, Field(ge=100, le=100_000)] = 2000
    """Number of bootstrap samples for intervals of scores and ranks."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.budget <= self.least:
            raise ValueError(f"'budget' {self.budget:g} should be more than 'least' {self.least:g}")
        return self

    @property
    def has_own_range(self) -> bool:
        """Whether both ends of the range of costs are set."""
        return {"least", "budget"} <= self.model_fields_set

    def settings(self) -> ScoreSettings:
        """Return the settings as tables and figures use them."""
        grid = target_grid(self.targets.start, self.targets.stop, self.targets.count)
        return ScoreSettings(grid, self.budget, self.least, self.draws)


SCORE_MODELS = (Score, Targets)
"""Models of the settings of scores."""
