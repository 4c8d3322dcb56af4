"""Gaussian expectations of the logistic loss and of its first two derivatives.

For X ~ N(mu, s2) and phi(x) = log(1 + exp x): F0 = E phi(X), F1 = E phi'(X), F2 = E phi''(X).
"""

from typing import TYPE_CHECKING

from gvibench.errors import UserError

if TYPE_CHECKING:
    from gvibench.expectations.base import Expectation
    from gvibench.expectations.pieces import Degree

__all__ = ["build"]


def build(
    name: str, *, pieces: int = 20, degree: "Degree" = "quadratic", nodes: int = 20
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
    # Imported when asked for: a run uses one of them.
    if name == "piecewise":
        from gvibench.expectations.piecewise import Piecewise

        return Piecewise(pieces, degree)
    if name == "exact":
        from gvibench.expectations.exact import Exact

        return Exact()
    if name == "gauss-hermite":
        from gvibench.expectations.gauss_hermite import GaussHermite

        return GaussHermite(nodes)
    raise UserError(f"no expectation '{name}': use 'piecewise', 'exact' or 'gauss-hermite'")
