"""Bayesian logistic regression: loss phi(-y x'theta), phi(t) = log(1 + exp t)."""

from typing import Any

from gvibench import expectations
from gvibench.backend import Array, Backend
from gvibench.models.base import Model
from gvibench.spec import RunSpec

__all__ = ["LogisticLoss", "LogisticModel"]


class LogisticLoss:
    """phi on rows stored as a = -y x, with a given way to take its expectation."""

    signed = True

    def __init__(self, backend: Backend, expectation: Any) -> None:
        self._xp = backend.xp
        self._expectation = expectation

    def expect(self, mu: Array, s2: Array, y: Array, f0: Array, f1: Array, f2: Array) -> None:
        self._expectation.evaluate(mu, s2, f0, f1, f2)

    def at(self, t: Array, y: Array) -> tuple[Array, Array, Array]:
        xp = self._xp
        small = xp.exp(-xp.abs(t))
        larger = 1.0 / (1.0 + small)  # the logistic function at |t|
        slope = xp.where(t >= 0, larger, small * larger)
        return xp.maximum(t, 0.0) + xp.log1p(small), slope, small * larger * larger


class LogisticModel(Model):
    """Logistic regression with the prior beta |theta|^2 / 2."""

    @classmethod
    def build_loss(cls, backend: Backend, spec: RunSpec) -> LogisticLoss:
        # What a stochastic run records is deterministic, and then nothing less than exact.
        name = "exact" if spec.expectation == "stochastic" else spec.expectation
        expectation = expectations.build(
            name, pieces=spec.pieces, degree=spec.piece_degree, nodes=spec.nodes
        )
        return LogisticLoss(backend, expectation)
