"""Bayesian logistic regression: loss phi(-y x'theta), phi(t) = log(1 + exp t)."""

from typing import TYPE_CHECKING, ClassVar

from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.numerics import expectations
from gvibench.numerics.base import Array, Backend
from gvibench.spec.run import RunSpec

if TYPE_CHECKING:
    from gvibench.numerics.expectations.base import Expectation
    from gvibench.numerics.expectations.compiled.oracle import FusedOracle

__all__ = ["LogisticLoss", "LogisticModel"]


class LogisticLoss:
    """Loss phi(-y t) of a linear predictor t, with a given method for its expectation.

    The label only changes the sign of the predictor and of the first derivative, so the rows need
    not be copied.
    """

    def __init__(self, backend: Backend, expectation: "Expectation") -> None:
        self._backend = backend
        self._expectation = expectation
        self._evaluate = backend.expectation(expectation)
        self.steepest = 0.25
        self.log_normaliser = 0.0

    def expect(self, mu: Array, s2: Array, y: Array, f0: Array, f1: Array, f2: Array) -> None:
        self._evaluate(-y * mu, s2, f0, f1, f2)
        f1 *= -y

    def fused_oracle(self, rows: Rows, beta: float) -> "FusedOracle | None":
        return self._backend.fused_oracle(self._expectation, rows.x, rows.y, beta)

    def at(self, t: Array, y: Array) -> tuple[Array, Array, Array]:
        xp = self._backend.xp
        signed = -y * t
        small = xp.exp(-xp.abs(signed))
        larger = 1.0 / (1.0 + small)  # the logistic function at |t|
        slope = xp.where(signed >= 0, larger, small * larger)
        return xp.maximum(signed, 0.0) + xp.log1p(small), -y * slope, small * larger * larger

    def value_at(self, t: Array, y: Array) -> Array:
        xp = self._backend.xp
        signed = -y * t
        return xp.maximum(signed, 0.0) + xp.log1p(xp.exp(-xp.abs(signed)))

    def log_predictive(self, mu: Array, s2: Array, y: Array) -> Array:
        from gvibench.numerics.expectations.predictive import log_mean_logistic

        return log_mean_logistic(y * mu, s2)

    def response(self, mu: Array, s2: Array) -> Array:
        _, share, _ = expectations.build("exact")(mu, s2)
        return share


class LogisticModel(Model):
    """Logistic regression with a Gaussian prior, for targets -1 and 1."""

    expectations: ClassVar[tuple[str, ...]] = ("piecewise", "exact", "gauss-hermite", "stochastic")
    tabulated: ClassVar[bool] = True

    @classmethod
    def build_loss(cls, backend: Backend, spec: RunSpec) -> LogisticLoss:
        # A stochastic run samples its steps, but records exact expectations.
        name = "exact" if spec.expectation == "stochastic" else spec.expectation
        expectation = expectations.build(
            name, pieces=spec.pieces, degree=spec.piece_degree, nodes=spec.nodes
        )
        return LogisticLoss(backend, expectation)
