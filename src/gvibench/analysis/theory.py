"""What is claimed about convergence, as functions of the numbers that a run has shown.

Three claims and an inequality, in the notation of docs/theory.md, which says where they come from
and what is wrong in print:

- SR-VN: gap_t <= (1 - 2 eta delta)^t gap_0
- the natural-gradient flow: gap(t) <= exp(-2 mu t) gap(0)
- BW-GD: W2^2_k <= exp(-delta h k) W2^2_0, W2 being the distance to the optimum
- the Riemannian Polyak-Lojasiewicz (PL) inequality: |grad|^2 >= 2 mu gap in the Fisher-Rao norm

Only arrays come in and only arrays and numbers go out.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Bound",
    "Constants",
    "bw_step",
    "first_violation",
    "fisher_inverse_floor",
    "lambert_step",
    "looseness",
    "measured_rate",
    "pl_constant",
    "squared_wasserstein",
]

Floats = NDArray[np.float64]

SLACK = 1e-9
"""A bound is violated if it is exceeded by more than this, relatively: less is rounding."""


@dataclass(frozen=True)
class Constants:
    """What the assumptions of the paper come down to in one run."""

    delta: float
    """Strong convexity of the loss."""
    smoothness: float
    """M: an upper bound on the curvature of the loss."""
    lambda_min: float
    """The smallest eigenvalue that V had."""
    xi_l: float
    """The smallest Frobenius norm that C had."""
    xi_u: float
    """The largest one."""

    @property
    def lambda_max(self) -> float:
        """The paper's bound on the largest eigenvalue of V."""
        return self.xi_u**2

    @property
    def rho_1(self) -> float:
        """The step at which the first term of eta is largest."""
        return self.lambda_min / (self.lambda_max**2 * self.smoothness)

    @property
    def rho_2(self) -> float:
        """The step at which the second term of eta is largest."""
        return math.sqrt(2 / 5) * self.xi_l**2 / (self.smoothness * self.xi_u**4)

    @property
    def printed_step(self) -> float:
        """The largest permissible step as the paper prints it."""
        return max(self.rho_1, self.rho_2)

    @property
    def needed_step(self) -> float:
        """The largest step at which neither term of eta is past its maximum."""
        return min(self.rho_1, self.rho_2)

    def omegas(self, step: float) -> tuple[float, float]:
        """Return omega_m and omega_C, by which the proof bounds the change of the objective."""
        quadratic = self.smoothness * step**2 * self.xi_u**4
        return (
            0.5 * quadratic - self.lambda_min * step,
            1.25 * quadratic - math.sqrt(5 / 2) * step * self.xi_l**2,
        )

    def eta(self, step: float) -> float:
        """Return eta, which has to be positive for the theorem on SR-VN to say anything."""
        return min(-omega for omega in self.omegas(step))

    def contraction(self, step: float) -> float:
        """Return 2 eta delta: the theorem speaks of a run only if this is between 0 and 1."""
        return 2 * self.eta(step) * self.delta

    def complexities(self, ratio: float) -> tuple[float, float]:
        """Return the iterations claimed to shrink the gap by `ratio`: as printed, and as needed.

        The printed minimum of two counts is the one that satisfies only the weaker condition.
        """
        condition = self.delta / self.smoothness
        shares = (
            condition * (self.lambda_min / self.lambda_max) ** 2,
            condition * (self.xi_l / self.xi_u) ** 4,
        )
        counts = [_ratio_count(ratio, share) for share in shares]
        return min(counts), max(counts)

    @property
    def printed_fisher_floor(self) -> float:
        """The paper's lower bound on the eigenvalues of the inverse Fisher matrix."""
        return min(self.lambda_min, 0.5 * self.lambda_min**2)

    @property
    def valid_fisher_floor(self) -> float:
        """A lower bound that holds for every lambda_min."""
        return 0.5 * self.lambda_min

    @property
    def printed_pl(self) -> float:
        """The PL constant mu as the paper prints it."""
        return self.delta * self.printed_fisher_floor

    @property
    def valid_pl(self) -> float:
        """The PL constant that follows from the valid bound on the Fisher matrix."""
        return self.delta * self.valid_fisher_floor


def _ratio_count(ratio: float, share: float) -> float:
    if ratio >= 1:
        return 0.0
    return math.log(ratio) / math.log1p(-share) if 0 < share < 1 else math.inf


@dataclass(frozen=True)
class Bound:
    """A claim of the form: value(t) <= exp(-rate t) value(0)."""

    rate: float

    @classmethod
    def of_contraction(cls, contraction: float) -> "Bound":
        """Return the bound (1 - contraction)^t; a contraction outside (0, 1) bounds nothing."""
        if not 0 < contraction < 1:
            raise ValueError(f"there is no bound with contraction {contraction:g}")
        return cls(-math.log1p(-contraction))

    def at(self, time: ArrayLike, first: float) -> Floats:
        """Return the bound at the given times, or iterations."""
        return np.asarray(first * np.exp(-self.rate * np.asarray(time, dtype=float)))


# What was measured


def first_violation(values: Floats, bound: Floats, floor: float) -> int | None:
    """Return the place of the first value above its bound, or nothing.

    Values up to `floor` are rounding and violate nothing.
    """
    above = (values > bound * (1 + SLACK)) & (values > floor)
    return int(above.argmax()) if above.any() else None


def looseness(values: Floats, bound: Floats, floor: float) -> float:
    """Return by how many orders of magnitude the last value above `floor` is below its bound."""
    known = np.flatnonzero(values > floor)
    if len(known) == 0:
        return math.nan
    last = known[-1]
    with np.errstate(divide="ignore", invalid="ignore"):  # a bound may have underflowed
        return float(np.log10(bound[last]) - np.log10(values[last]))


def measured_rate(time: Floats, values: Floats, floor: float) -> float:
    """Return r of values ~ exp(-r t) in the second half of the decades down to `floor`.

    The median of slopes over half of that stretch: a few odd values do not matter.
    """
    kept = values > floor
    time, logs = time[kept], np.log(values[kept])
    if len(logs) < 2:
        return math.nan
    late = np.flatnonzero(logs > 0.5 * (logs[0] + logs.min()))
    # From the last point of the first half on: a run that makes no headway is taken whole.
    start = late[-1] if len(late) and late[-1] < len(logs) - 1 else 0
    time, logs = time[start:], logs[start:]
    half = max(len(logs) // 2, 1)
    return float(-np.median((logs[half:] - logs[:-half]) / (time[half:] - time[:-half])))


def pl_constant(gap: Floats, grad_norm: Floats, floor: float) -> float:
    """Return the largest mu with which the PL inequality held at every gap above `floor`."""
    kept = gap > floor
    return float((grad_norm[kept] ** 2 / (2 * gap[kept])).min()) if kept.any() else math.nan


def fisher_inverse_floor(factor: Floats) -> float:
    """Return the smallest eigenvalue of the inverse Fisher matrix in (m, C), C lower triangular.

    In C the Fisher matrix falls apart into one block per column j. With T the part of C below and
    to the right of (j, j), the inverse of that block is T (I - e e' / 2) T', e being the first unit
    vector. The block of the mean is V, which is no smaller than the first of them.
    """
    smallest = math.inf
    for j in range(len(factor)):
        part = factor[j:, j:].copy()
        part[:, 0] *= math.sqrt(0.5)
        smallest = min(smallest, float(np.linalg.svd(part, compute_uv=False)[-1]) ** 2)
    return smallest


# The Bures-Wasserstein geometry


def squared_wasserstein(mean: Floats, root: Floats, other_mean: Floats, other: Floats) -> float:
    """Return W2^2 between two Gaussians, each given by its mean and any square root of V.

    The closest roots of two covariances differ by an orthogonal factor. Their distance keeps its
    digits where the usual formula, a difference of traces, has none left.
    """
    u, _, wt = np.linalg.svd(other.T @ root)
    return float(((mean - other_mean) ** 2).sum() + ((root - other @ (u @ wt)) ** 2).sum())


def lambert_step(delta: float, smoothness: float) -> float:
    """Return the largest step of Lambert et al. (2022), Theorem 4, for curvatures up to M.

    The theorem has M = 1 and h <= delta^2 / 60; lengths measured in units of M^{-1/2} make that of
    every problem.
    """
    return delta**2 / (60 * smoothness**3)


def bw_step(smoothness: float, lambda_min: float) -> float:
    """Return the largest step h of BW-GD with h L <= 1, L = M + 1 / ((1 - h M)^2 lambda_min).

    L bounds the second derivative of the objective along a step: the loss gives M, the entropy the
    rest, as V >= lambda_min I and the step shrinks no root of V to less than 1 - h M of itself.
    """
    # With x = h M: (1 - x)^3 = x / (M lambda_min), which has one real root.
    roots = np.roots([1.0, -3.0, 3.0 + 1.0 / (smoothness * lambda_min), -1.0])
    return float(roots[np.abs(roots.imag).argmin()].real) / smoothness
