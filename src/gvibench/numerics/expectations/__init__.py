"""Gaussian expectations of the logistic loss and of its first two derivatives.

For X ~ N(mu, s2) and phi(x) = log(1 + exp x): F0 = E phi(X), F1 = E phi'(X), F2 = E phi''(X).
"""

from typing import TYPE_CHECKING

from gvibench.registry import EXPECTATIONS

if TYPE_CHECKING:
    from gvibench.numerics.expectations.base import Expectation

__all__ = ["build"]


def build(
    name: str, *, pieces: int = 20, degree: str = "quadratic", nodes: int = 20
) -> "Expectation":
    """Return the deterministic expectation called `name` in the run specification.

    Parameters
    ----------
    name
        "piecewise", "exact" or "gauss-hermite".
    pieces, degree
        Of the bound of "piecewise".
    nodes
        Of "gauss-hermite".
    """
    expectation: Expectation = EXPECTATIONS.load(name)(pieces=pieces, degree=degree, nodes=nodes)
    return expectation
