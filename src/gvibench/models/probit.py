"""Bayesian probit regression: loss f(y x'theta), f(t) = -log Phi(t).

F0 = E f(X), F1 = E f'(X) and F2 = E f''(X), X ~ N(mu, s^2), have no closed form. For s <= 0.5,
Gauss-Hermite quadrature with 20 nodes is accurate to 1e-13. For larger s the trapezoid rule is
accurate, because f is analytic within a distance of 2.8 from the real axis. Its nodes are spaced
evenly

- in z = (x - mu) / s if s <= 16, with 37 nodes for s <= 1 and 36 s + 1 otherwise,
- in v = asinh(x) if s is larger, which resolves both f near zero and the wide Gaussian,
- in z with 37 nodes if s is larger and mu is so far from zero that f has no detail within the
  Gaussian.
"""

import math
from typing import ClassVar

from gvibench.models.base import Model
from gvibench.models.protocols import Rows
from gvibench.numerics.base import Array, Backend
from gvibench.numerics.special import special_functions
from gvibench.spec.run import RunSpec

__all__ = ["ProbitLoss", "ProbitModel"]

REACH = 9.0
"""Number of standard deviations up to which a Gaussian is integrated."""
NARROW, NARROW_NODES = 0.5, 20
"""Standard deviation up to which Gauss-Hermite quadrature is accurate, and its number of nodes."""
WIDE = 16
"""Standard deviation above which nodes are spaced evenly in asinh(x)."""
FAR = 20.0
"""Distance of mu from zero, in standard deviations, from which f has no detail."""
SINH_SPACING = 0.025
SERIES_BELOW = -20.0
"""Argument below which t + f' is computed by its asymptotic series, because it cancels."""
SERIES = (1.0, -2.0, 10.0, -74.0, 706.0, -8162.0)
CHUNK = 1 << 16
"""Number of rows times nodes that are evaluated together, so that they fit into a cache."""


class ProbitLoss:
    """Loss -log Phi(y t) of a linear predictor t.

    Parameters
    ----------
    backend
        Backend for all arrays.
    nodes
        Number of Gauss-Hermite nodes, or None for the accurate trapezoid rule.
    """

    steepest = 1.0
    log_normaliser = 0.0

    def __init__(self, backend: Backend, nodes: int | None = None) -> None:
        self._xp = backend.xp
        self._special = special_functions(backend)
        self._rules: dict[int, tuple[Array, Array]] = {}
        self._hermite = None if nodes is None else self._gauss_hermite(nodes)

    def expect(self, mu: Array, s2: Array, y: Array, f0: Array, f1: Array, f2: Array) -> None:
        xp = self._xp
        results = f0, f1, f2
        centre, s = xp.asarray(y * mu, dtype=float), xp.sqrt(xp.asarray(s2, dtype=float))
        if self._hermite is not None:
            self._sum(slice(None), centre, s, self._hermite, results)
        else:
            self._trapezoid(centre, s, results)
        f1 *= y

    def _trapezoid(self, mu: Array, s: Array, results: tuple[Array, Array, Array]) -> None:
        xp = self._xp
        largest = float(xp.max(s, initial=0.0))
        if largest <= NARROW:  # the usual case. NaN fails the condition.
            self._sum(slice(None), mu, s, self._rule(0), results)
            return
        for result in results:
            result[...] = xp.nan
        is_wide = s > WIDE
        is_far = is_wide & (xp.abs(mu) > FAR * s)
        count = xp.where(is_far, 1.0, xp.where(s <= NARROW, 0.0, xp.ceil(s)))
        for k in xp.unique(count[(~is_wide | is_far) & xp.isfinite(count)]).tolist():
            rows = xp.flatnonzero((count == k) & (~is_wide | is_far))
            self._sum(rows, mu[rows], s[rows], self._rule(int(k)), results)
        rows = xp.flatnonzero(is_wide & ~is_far & xp.isfinite(s))
        if len(rows):
            self._sum_wide(rows, mu[rows], s[rows], results)

    def _rule(self, k: int) -> tuple[Array, Array]:
        """Return nodes with spacing 1 / (2 k) and their weights, or for k = 0 few nodes."""
        if k == 0 and k not in self._rules:
            self._rules[k] = self._gauss_hermite(NARROW_NODES)
        if k not in self._rules:
            nodes = self._xp.arange(-2 * REACH * k, 2 * REACH * k + 1) / (2 * k)
            weights = self._xp.exp(-0.5 * nodes * nodes)
            self._rules[k] = nodes, weights / weights.sum()
        return self._rules[k]

    def _gauss_hermite(self, nodes: int) -> tuple[Array, Array]:
        import numpy as np  # imported here, because planning loads models without NumPy

        points, weights = np.polynomial.hermite_e.hermegauss(nodes)
        return self._xp.asarray(points), self._xp.asarray(weights / weights.sum())

    def _sum(
        self,
        rows: Array,
        mu: Array,
        s: Array,
        rule: tuple[Array, Array],
        results: tuple[Array, Array, Array],
    ) -> None:
        """Write the weighted sums over the nodes mu + s z into some rows of the results."""
        nodes, weights = rule
        size = max(1, CHUNK // len(nodes))
        for start in range(0, len(mu), size):
            part = slice(start, start + size)
            t = mu[part, None] + s[part, None] * nodes
            chosen = part if isinstance(rows, slice) else rows[part]
            for result, values in zip(results, self._derivatives(t), strict=True):
                result[chosen] = values @ weights

    def _sum_wide(
        self, rows: Array, mu: Array, s: Array, results: tuple[Array, Array, Array]
    ) -> None:
        """Write the sums over nodes that are spaced evenly in asinh(x)."""
        xp = self._xp
        low, high = xp.arcsinh(mu - REACH * s), xp.arcsinh(mu + REACH * s)
        count = 1 + math.ceil(float(xp.max(high - low)) / SINH_SPACING)
        share = xp.arange(count) / (count - 1)
        size = max(1, CHUNK // count)
        for start in range(0, len(mu), size):
            part = slice(start, start + size)
            v = low[part, None] + (high - low)[part, None] * share
            t = xp.sinh(v)
            z = (t - mu[part, None]) / s[part, None]
            weights = xp.exp(-0.5 * z * z) * xp.cosh(v)
            weights /= weights.sum(axis=1, keepdims=True)
            for result, values in zip(results, self._derivatives(t), strict=True):
                result[rows[part]] = (values * weights).sum(axis=1)

    def fused_oracle(self, rows: Rows, beta: float) -> None:
        return None

    def at(self, t: Array, y: Array) -> tuple[Array, Array, Array]:
        f0, f1, f2 = self._derivatives(y * t)
        return f0, y * f1, f2

    def value_at(self, t: Array, y: Array) -> Array:
        return -self._special.log_ndtr(y * t)

    def response(self, mu: Array, s2: Array) -> Array:
        """Return the probability of the target 1 for t ~ N(mu, s2)."""
        return self._special.ndtr(mu / self._xp.sqrt(1.0 + s2))

    def log_predictive(self, mu: Array, s2: Array, y: Array) -> Array:
        """Return log E p(y | t) for t ~ N(mu, s2)."""
        return self._special.log_ndtr(y * mu / self._xp.sqrt(1.0 + s2))

    def _derivatives(self, t: Array) -> tuple[Array, Array, Array]:
        """Return f, f' and f'' from one evaluation of erfcx."""
        xp = self._xp
        size = xp.abs(t)
        scaled = self._special.erfcx(math.sqrt(0.5) * size)
        bell = xp.exp(-0.5 * size * size)
        tail = 0.5 * scaled * bell  # Phi(-|t|)
        is_left = t < 0
        left = 0.5 * size * size - xp.log(0.5 * scaled)
        value = xp.where(is_left, left, -xp.log1p(-tail))
        ratio = math.sqrt(2.0 / math.pi) / xp.where(is_left, scaled, 2.0 * (1.0 - tail))
        ratio = xp.where(is_left, ratio, ratio * bell)  # density over Phi
        sum_ = t + ratio
        is_series = t < SERIES_BELOW
        if is_series.any():
            inverse = 1.0 / xp.where(is_series, size, 1.0)
            square, series = inverse * inverse, 0.0
            for coefficient in reversed(SERIES):
                series = series * square + coefficient
            sum_ = xp.where(is_series, series * inverse, sum_)
        return value, -ratio, ratio * sum_


class ProbitModel(Model):
    """Probit regression with a Gaussian prior, for targets -1 and 1."""

    expectations: ClassVar[tuple[str, ...]] = ("exact", "gauss-hermite", "stochastic")

    @classmethod
    def build_loss(cls, backend: Backend, spec: RunSpec) -> ProbitLoss:
        return ProbitLoss(backend, spec.nodes if spec.expectation == "gauss-hermite" else None)
