"""Gaussian posterior of a fit: moments of predictors, covariance and draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gvibench.models.reduction import Reduction

__all__ = ["Posterior"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Posterior:
    """Gaussian N(mean, V), with V = L L' or, if d > n, represented in the span of the rows."""

    mean: Floats
    lower: Floats
    """Lower triangular L, in the coordinates of the reduction if there is one."""
    reduction: Reduction | None

    def predictor(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return mean and variance of x'theta for each row x."""
        white = self.coordinates(rows) @ self.lower
        return np.asarray(rows @ self.mean), np.vecdot(white, white)

    def coordinates(self, rows: Floats) -> Floats:
        """Return rows in the coordinates of the factor."""
        if self.reduction is None:
            return rows
        basis = self.reduction.basis
        rotated = rows @ basis
        if not self._others:
            return np.asarray(rotated)
        # All other directions have mean zero and the same variance, so only a length matters.
        rest = np.linalg.norm(rows - rotated @ basis.T, axis=1)
        return np.column_stack([rotated, rest])

    def reduced_mean(self) -> Floats:
        """Return the mean in the coordinates of the factor."""
        if self.reduction is None:
            return self.mean
        mean = self.reduction.basis.T @ self.mean
        return np.append(mean, 0.0) if self._others else np.asarray(mean)

    def standard_deviations(self) -> Floats:
        """Return the standard deviation of each coordinate."""
        if self.reduction is None:
            return np.asarray(np.sqrt(np.vecdot(self.lower, self.lower)))
        return np.sqrt(np.diag(self.covariance()))

    def covariance(self) -> Floats:
        """Return V."""
        if self.reduction is None:
            return np.asarray(self.lower @ self.lower.T)
        # Directions without data all have the same variance.
        basis, lower, variance = self._parts()
        spanned = basis @ lower
        rest = np.eye(len(basis)) - basis @ basis.T
        return np.asarray(spanned @ spanned.T + variance * rest)

    def draw(self, count: int, seed: int) -> Floats:
        """Return draws with dimensions (draw, feature)."""
        rng = np.random.default_rng(seed)
        if self.reduction is None:
            return self.mean + rng.standard_normal((count, len(self.lower))) @ self.lower.T
        basis, lower, variance = self._parts()
        spanned = rng.standard_normal((count, len(lower))) @ (basis @ lower).T
        noise = rng.standard_normal((count, len(basis)))
        rest = noise - (noise @ basis) @ basis.T
        return np.asarray(self.mean + spanned + np.sqrt(variance) * rest)

    @property
    def _others(self) -> bool:
        """Whether the last coordinate represents directions outside the basis."""
        return self.reduction is not None and len(self.lower) > self.reduction.basis.shape[1]

    def _parts(self) -> tuple[Floats, Floats, float]:
        """Return the basis, the factor in it, and the variance in all other directions."""
        assert self.reduction is not None
        basis, count = self.reduction.basis, self.reduction.basis.shape[1]
        variance = float(self.lower[-1, -1] ** 2) if self._others else 0.0
        return basis, self.lower[:count, :count], variance
