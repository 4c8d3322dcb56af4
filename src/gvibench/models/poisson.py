"""Poisson regression with log link: y ~ Poisson(exp(x'theta + offset)).

The loss is the negative log-likelihood exp(t) - y t + log y!, so that the objective, the negative
ELBO and the test NLL include log y!.
"""

from typing import ClassVar

from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.numerics.base import Array, Backend
from gvibench.numerics.special import special_functions
from gvibench.spec.run import RunSpec

__all__ = ["PoissonLoss", "PoissonModel"]

NEGLIGIBLE = 45.0
"""Decrease of the logarithm of a density beyond which it does not contribute to an integral."""
PREDICTIVE_NODES = 241
NEWTON_STEPS = 60


class PoissonLoss:
    """Loss exp(t) - y t + log y!, whose expectation has a closed form.

    With e = exp(mu + s2 / 2)::

        F0 = e - y mu + log y!     F1 = e - y     F2 = e

    The second derivative is not bounded. Where exp overflows, the loss is infinite: step rule
    `auto` rejects such a step, and a run with a constant step diverges.
    """

    steepest = float("inf")
    log_normaliser = 0.0

    def __init__(self, backend: Backend) -> None:
        self._xp = backend.xp
        self._special = special_functions(backend)

    def expect(self, mu: Array, s2: Array, y: Array, f0: Array, f1: Array, f2: Array) -> None:
        f2[...] = self._xp.exp(mu + 0.5 * s2)
        f1[...] = f2 - y
        f0[...] = f2 - y * mu + self._log_factorial(y)

    def at(self, t: Array, y: Array) -> tuple[Array, Array, Array]:
        rate = self._xp.exp(t)
        return rate - y * t + self._log_factorial(y), rate - y, rate

    def value_at(self, t: Array, y: Array) -> Array:
        return self._xp.exp(t) - y * t + self._log_factorial(y)

    def fused_oracle(self, rows: Rows, beta: float) -> None:
        return None

    def response(self, mu: Array, s2: Array) -> Array:
        """Return the expected count E exp(t) for t ~ N(mu, s2)."""
        return self._xp.exp(mu + 0.5 * s2)

    def log_predictive(self, mu: Array, s2: Array, y: Array) -> Array:
        """Return log E p(y | t) for t ~ N(mu, s2), by the trapezoid rule around the mode."""
        xp = self._xp
        # A tiny variance stands for zero, which would divide by zero.
        mu, s2 = mu + 0.0 * y, xp.maximum(s2 + 0.0 * y, 1e-30)

        def log_density(t: Array) -> Array:
            return y * t - xp.exp(t) - 0.5 * (t - mu) ** 2 / s2

        mode = self._mode(mu, s2, y)
        top = log_density(mode)
        width = 1.0 / xp.sqrt(1.0 / s2 + xp.exp(mode))
        low, high = mode - width, mode + width
        for _ in range(NEWTON_STEPS):
            low = xp.where(log_density(low) > top - NEGLIGIBLE, 2.0 * low - mode, low)
            high = xp.where(log_density(high) > top - NEGLIGIBLE, 2.0 * high - mode, high)
        total = 0.0
        for k in range(PREDICTIVE_NODES):
            t = low + (high - low) * (k / (PREDICTIVE_NODES - 1))
            total = total + xp.exp(log_density(t) - top)
        integral = xp.log(total * (high - low) / (PREDICTIVE_NODES - 1))
        normaliser = 0.5 * xp.log(2.0 * xp.pi * s2) + self._log_factorial(y)
        return integral + top - normaliser

    def _mode(self, mu: Array, s2: Array, y: Array) -> Array:
        """Return the maximiser of y t - exp(t) - (t - mu)^2 / (2 s2), by Newton's method."""
        xp = self._xp
        # Newton's method converges monotonically from any point right of the root.
        t = xp.maximum(mu, xp.log(y + 1.0))
        for _ in range(NEWTON_STEPS):
            rate = xp.exp(t)
            t = t - (rate - y + (t - mu) / s2) / (rate + 1.0 / s2)
        return t

    def _log_factorial(self, y: Array) -> Array:
        return self._special.gammaln(y + 1.0)


class PoissonModel(Model):
    """Poisson regression with log link and a Gaussian prior, for targets 0, 1, 2, ...

    An offset per row, such as the logarithm of an exposure, is added to the linear predictor. The
    expectations are exact in closed form. The loss is convex but not smooth, so the convergence
    theorems do not apply.
    """

    targets: ClassVar[tuple[str, ...]] = ("counts",)
    smooth: ClassVar[bool] = False

    @classmethod
    def build_loss(cls, backend: Backend, spec: RunSpec) -> PoissonLoss:
        return PoissonLoss(backend)
