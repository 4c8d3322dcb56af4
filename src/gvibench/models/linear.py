"""Bayesian linear regression: loss (y - x'theta)^2 / (2 sigma^2).

The objective omits the constant log(sigma sqrt(2 pi)) of each row. The negative ELBO and the test
NLL include it.
"""

import math
from typing import ClassVar

from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.numerics.base import Array, Backend
from gvibench.spec.run import RunSpec

__all__ = ["LinearModel", "SquaredLoss"]


class SquaredLoss:
    """Squared error with its exact expectation F0 = ((y - mu)^2 + s2) / (2 sigma^2)."""

    def __init__(self, backend: Backend, sigma: float) -> None:
        self._xp = backend.xp
        self._precision = sigma**-2.0
        self.steepest = self._precision
        self.log_normaliser = math.log(sigma * math.sqrt(2.0 * math.pi))

    def expect(self, mu: Array, s2: Array, y: Array, f0: Array, f1: Array, f2: Array) -> None:
        residual = mu - y
        f0[...] = 0.5 * self._precision * (residual * residual + s2)
        f1[...] = self._precision * residual
        f2[...] = self._precision

    def fused_oracle(self, rows: Rows, beta: float) -> None:
        return None

    def at(self, t: Array, y: Array) -> tuple[Array, Array, Array]:
        residual = t - y
        curvature = self._xp.full_like(residual, self._precision)
        return self.value_at(t, y), self._precision * residual, curvature

    def value_at(self, t: Array, y: Array) -> Array:
        residual = t - y
        return 0.5 * self._precision * residual * residual

    def log_predictive(self, mu: Array, s2: Array, y: Array) -> Array:
        variance = s2 + 1.0 / self._precision
        residual = mu - y
        return -0.5 * (residual * residual / variance + self._xp.log(2.0 * math.pi * variance))

    def response(self, mu: Array, s2: Array) -> Array:
        return mu


class LinearModel(Model):
    """Linear regression with a Gaussian prior. Its expectations are exact in closed form."""

    targets: ClassVar[tuple[str, ...]] = ("real", "counts", "classes")

    @classmethod
    def build_loss(cls, backend: Backend, spec: RunSpec) -> SquaredLoss:
        return SquaredLoss(backend, spec.sigma)
