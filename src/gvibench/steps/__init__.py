"""Create step rules by name."""

from collections.abc import Mapping

from gvibench.registry import STEP_RULES
from gvibench.spec.fields import Option
from gvibench.steps.base import StepRule

__all__ = ["create"]


def create(name: str, step: float, options: Mapping[str, Option]) -> StepRule:
    """Return the step rule called `name` with the given, already validated settings."""
    rule: StepRule = STEP_RULES.load(name)(step=step, **options)
    return rule
