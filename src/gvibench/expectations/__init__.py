"""Gaussian expectations of the logistic loss and of its first two derivatives.

For X ~ N(mu, s2) and phi(x) = log(1 + exp x): F0 = E phi(X), F1 = E phi'(X), F2 = E phi''(X).
"""

import importlib
from typing import TYPE_CHECKING

from gvibench.errors import UserError

if TYPE_CHECKING:
    from gvibench.expectations.base import Expectation

__all__ = ["MODULES", "build"]

# As text, so that a run depends only on the code of its own expectation. What follows the class's
# own module is loaded at run time and counts as its code.
MODULES = {
    "piecewise": (
        "gvibench.expectations.piecewise",
        "gvibench.expectations.kernels.piecewise",
    ),
    "exact": ("gvibench.expectations.exact", "gvibench.expectations.kernels.exact"),
    "gauss-hermite": (
        "gvibench.expectations.gauss_hermite",
        "gvibench.expectations.kernels.gauss_hermite",
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
        Of the bound of "piecewise".
    nodes
        Of "gauss-hermite".
    """
    if name not in MODULES:
        raise UserError(f"no expectation '{name}': use {', '.join(MODULES)}")
    module = importlib.import_module(MODULES[name][0])
    expectation: Expectation = module.build(pieces=pieces, degree=degree, nodes=nodes)
    return expectation
