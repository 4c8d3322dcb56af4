"""Read the certified optima that the package ships, one per bundled problem.

`benchmarks/certificates.py` computes them. This module does not import NumPy.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gvibench.store.bundled import bundled_path

__all__ = ["FILE", "CertifiedOptimum", "certified_optima", "certified_optimum"]

FILE = bundled_path("certified_optima.json")


@dataclass(frozen=True)
class CertifiedOptimum:
    """Optimum of a bundled problem with its defaults and exact expectations, and facts about it."""

    dataset: str
    model: str
    spec_hash: str
    """Hash of the ProblemSpec."""
    beta: float
    gamma: float
    n_train: int
    n_test: int
    d: int
    """Number of features, including the intercept."""
    train_counts: Mapping[str, int]
    """Training rows of each class; empty for counts."""
    test_counts: Mapping[str, int]
    objective: float
    neg_elbo: float
    bound: float
    """Bound on the excess of the objective over its minimum, in nats."""
    rank: int
    """Rank of the training rows."""
    condition: float
    """Ratio of the largest to the smallest non-zero singular value of the training rows."""
    separable: bool | None
    """Whether a hyperplane separates the classes of the training rows; None for counts."""


@functools.cache
def certified_optima() -> tuple[CertifiedOptimum, ...]:
    """Return all certified optima."""
    problems: list[dict[str, Any]] = json.loads(FILE.read_text())["problems"]
    return tuple(CertifiedOptimum(**problem) for problem in problems)


def certified_optimum(dataset: str, model: str) -> CertifiedOptimum | None:
    """Return the certified optimum of a data set, or None if the package ships none."""
    for optimum in certified_optima():
        if (optimum.dataset, optimum.model) == (dataset, model):
            return optimum
    return None
