"""Common parts of solvers that match the scores of q to those of the posterior at draws from q."""

from typing import TYPE_CHECKING, Any, ClassVar

from gvibench.models.base import Model
from gvibench.models.protocols import Curvature
from gvibench.numerics.base import Array
from gvibench.registry import MODELS
from gvibench.solvers.base import Solver, State

if TYPE_CHECKING:
    from gvibench.spec.run import RunSpec

__all__ = ["ScoreMatching", "draws_and_scores"]


class ScoreMatching(Solver):
    """Solver without a step size that uses draws from q and the scores of the posterior there."""

    curvature: ClassVar[Curvature] = "draws"
    other_limit: ClassVar[str] = "other divergence"
    has_step: ClassVar[bool] = False
    defaults: ClassVar[dict[str, Any]] = {
        "expectation": "stochastic",
        "batch": "all",
        "samples": 32,
    }

    @classmethod
    def limitation(cls, spec: "RunSpec") -> str:
        if spec.expectation != "stochastic":
            return "uses draws from q: set expectation to 'stochastic'"
        if spec.batch != "all":
            return "is biased by minibatches: set batch to 'all'"
        if MODELS.load(spec.model).has_penalty():
            return "has no penalty on the mean: choose another model"
        return "needs gamma above 0" if spec.gamma == 0 else ""


def draws_and_scores(state: State, model: Model) -> tuple[Array, Array]:
    """Return the draws of a state and the scores of the posterior there, one per row."""
    draws, gradients = state.oracle.curvature
    return draws, -gradients / model.gamma
