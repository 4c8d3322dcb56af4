"""Interfaces between solvers, models and losses.

This module does not import NumPy, so that planning a study can load solvers quickly.
"""

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from gvibench.numerics.base import Array, Backend

if TYPE_CHECKING:
    from gvibench.numerics.expectations.compiled.oracle import FusedOracle

__all__ = ["Curvature", "Objectives", "Oracle", "PointwiseLoss", "Rows"]

Curvature = Literal["hessian", "whitened", "factor", "draws"]
"""Form of the curvature with C C' = V: the expected Hessian H, C'HC, H C, or, in a stochastic run,
the draws from q with the gradients there instead of a curvature."""


class Rows(NamedTuple):
    """Rows of a design matrix and their targets."""

    x: Array
    y: Array
    offset: Array | None = None
    """Numbers that are added to the linear predictors, one per row."""

    def on(self, backend: Backend) -> "Rows":
        """Return the rows on the device of a backend."""
        return Rows(*(None if part is None else backend.asarray(part) for part in self))


class Oracle(NamedTuple):
    """Value, gradient and curvature of a model at one Gaussian."""

    value: Array
    """Sum of F0 over the rows plus the penalty on the mean, without prior and entropy."""
    gradient: Array
    """Expected gradient g, including the prior."""
    curvature: Array
    """Curvature, including the prior, in the form that `kind` names."""
    kind: Curvature


class Objectives(NamedTuple):
    """Three different objectives of one Gaussian."""

    objective: Array
    neg_elbo: Array
    train_elbo_paper: Array


class PointwiseLoss(Protocol):
    """Loss of one row as a function of its linear predictor."""

    def expect(self, mu: Array, s2: Array, y: Array, f0: Array, f1: Array, f2: Array) -> None:
        """Write E l(X), E l'(X), E l''(X) for X ~ N(mu, s2)."""

    def at(self, t: Array, y: Array) -> tuple[Array, Array, Array]:
        """Return l(t), l'(t), l''(t)."""

    def value_at(self, t: Array, y: Array) -> Array:
        """Return l(t)."""

    @property
    def steepest(self) -> float:
        """Maximum of l''."""

    @property
    def log_normaliser(self) -> float:
        """Constant difference between the negative log-likelihood of a row and its loss."""

    def log_predictive(self, mu: Array, s2: Array, y: Array) -> Array:
        """Return log E p(y | X) for X ~ N(mu, s2), exactly, as NumPy arrays."""

    def response(self, mu: Array, s2: Array) -> Array:
        """Return E E[y | X] for X ~ N(mu, s2): P(y = +1) for classes, else the mean target."""

    def fused_oracle(self, rows: Rows, beta: float) -> "FusedOracle | None":
        """Return a compiled oracle of this loss for the rows, or None if there is none."""
