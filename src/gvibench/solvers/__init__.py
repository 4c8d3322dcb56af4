"""Create solvers by name."""

from collections.abc import Mapping

from gvibench.registry import SOLVERS
from gvibench.solvers.base import Solver
from gvibench.spec.fields import Option

__all__ = ["create"]


def create(name: str, options: Mapping[str, Option]) -> Solver:
    """Return the solver called `name` with the given, already validated options."""
    solver: Solver = SOLVERS.load(name)(**options)
    return solver
