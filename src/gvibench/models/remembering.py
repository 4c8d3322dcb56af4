"""Keep quantities of an iterate that a search for a step size needs several times."""

from gvibench.models.protocols import Oracle
from gvibench.numerics.base import Array

__all__ = ["Remembering"]


class Remembering:
    """Base class of models, with one value for each named quantity."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Oracle, Array]] = {}

    def remember(self, oracle: Oracle, name: str, value: Array) -> None:
        """Keep a quantity of an oracle, in place of the same quantity of another oracle."""
        self._known[name] = oracle, value

    def recall(self, oracle: Oracle, name: str) -> Array | None:
        """Return a quantity of an oracle if `remember` has kept it."""
        known = self._known.get(name)
        return known[1] if known is not None and known[0] is oracle else None
