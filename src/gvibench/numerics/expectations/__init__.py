"""Gaussian expectations of the logistic loss and of its first two derivatives.

For X ~ N(mu, s2) and phi(x) = log(1 + exp x): F0 = E phi(X), F1 = E phi'(X), F2 = E phi''(X).
"""

import importlib
from typing import TYPE_CHECKING

from gvibench.errors import UserError

if TYPE_CHECKING:
    from gvibench.numerics.expectations.base import Expectation

__all__ = ["MODULES", "build"]

# Names instead of imports, so that a run depends only on the code of its own expectation. Each
# entry names the module of the class and the modules that it loads at run time.
MODULES = {
    "piecewise": (
        "gvibench.numerics.expectations.piecewise",
        "gvibench.numerics.expectations.compiled.piecewise",
    ),
    "exact": (
        "gvibench.numerics.expectations.exact",
        "gvibench.numerics.expectations.compiled.exact",
    ),
    "gauss-hermite": (
        "gvibench.numerics.expectations.gauss_hermite",
        "gvibench.numerics.expectations.compiled.gauss_hermite",
    ),
}


def build(
    name: str, *, pieces: int = 20, degree: str = "quadratic", nodes: int = 20
) -> "Expectation":
    """Return the deterministic expectation called `name` in the run specification.

    Parameters
    ----------
    name
        "piecewise", "exact" or "gauss-hermite".
    pieces, degree
        Number and degree of the pieces, for "piecewise".
    nodes
        Number of nodes, for "gauss-hermite".
    """
    if name not in MODULES:
        raise UserError(f"no expectation '{name}': use {', '.join(MODULES)}")
    module = importlib.import_module(MODULES[name][0])
    expectation: Expectation = module.build(pieces=pieces, degree=degree, nodes=nodes)
    return expectation
