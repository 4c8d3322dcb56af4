"""Evaluate theoretical bounds on convergence from quantities measured in a run.

The module has three claims and an inequality, in the notation of docs/theory.md, which gives their
sources and the errors in print:

- SR-VN: gap_t <= (1 - 2 eta delta)^t gap_0
- the natural-gradient flow: gap(t) <= exp(-2 mu t) gap(0)
- BW-GD: W2^2_k <= exp(-delta h k) W2^2_0, where W2 is the distance to the optimum
- the Riemannian Polyak-Lojasiewicz (PL) inequality: |grad|^2 >= 2 mu gap in the Fisher-Rao norm

All functions take and return plain arrays and numbers.
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
"""Relative tolerance by which a value may exceed a bound, to allow for rounding."""


@dataclass(frozen=True)
class Constants:
    """Constants of the paper's assumptions, measured over one run."""

    delta: float
    """Strong convexity of the loss."""
    smoothness: float
    """Upper bound M on the curvature of the loss."""
    lambda_min: float
    """Smallest eigenvalue of V over the run."""
    xi_l: float
    """Smallest Frobenius norm of C over the run."""
    xi_u: float
    """Largest Frobenius norm of C over the run."""

    @property
    def lambda_max(self) -> float:
        """Bound of the paper on the largest eigenvalue of V."""
        return self.xi_u**2

    @property
    def rho_1(self) -> float:
        """Step that maximises the first term of eta."""
        return self.lambda_min / (self.lambda_max**2 * self.smoothness)

    @property
    def rho_2(self) -> float:
        """Step that maximises the second term of eta."""
        return math.sqrt(2 / 5) * self.xi_l**2 / (self.smoothness * self.xi_u**4)

    @property
    def printed_step(self) -> float:
        """Largest permissible step as printed in the paper."""
        return max(self.rho_1, self.rho_2)

    @property
    def needed_step(self) -> float:
        """Largest step at which neither term of eta has passed its maximum."""
        return min(self.rho_1, self.rho_2)

    def omegas(self, step: float) -> tuple[float, float]:
        """Return omega_m and omega_C, with which the proof bounds the change of the objective."""
        quadratic = self.smoothness * step**2 * self.xi_u**4
        return (
            0.5 * quadratic - self.lambda_min * step,
            1.25 * quadratic - math.sqrt(5 / 2) * step * self.xi_l**2,
        )

    def eta(self, step: float) -> float:
        """Return eta. The SR-VN theorem applies only if it is positive."""
        return min(-omega for omega in self.omegas(step))

    def contraction(self, step: float) -> float:
        """Return 2 eta delta. The SR-VN theorem applies only if it is between 0 and 1."""
        return 2 * self.eta(step) * self.delta

    def complexities(self, ratio: float) -> tuple[float, float]:
        """Return the claimed iterations to shrink the gap by `ratio`, as printed and as needed.

        The paper prints the minimum of two counts, which satisfies only the weaker of two
        conditions. The proof needs the maximum.
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
        """Lower bound of the paper on the eigenvalues of the inverse Fisher matrix."""
        return min(self.lambda_min, 0.5 * self.lambda_min**2)

    @property
    def valid_fisher_floor(self) -> float:
        """Lower bound on the same eigenvalues that holds for all lambda_min."""
        return 0.5 * self.lambda_min

    @property
    def printed_pl(self) -> float:
        """PL constant mu as printed in the paper."""
        return self.delta * self.printed_fisher_floor

    @property
    def valid_pl(self) -> float:
        """PL constant mu that follows from the valid bound on the Fisher matrix."""
        return self.delta * self.valid_fisher_floor


def _ratio_count(ratio: float, share: float) -> float:
    """Return the iterations that shrink a gap by `ratio` if each one shrinks it by 1 - share."""
    if ratio >= 1:
        return 0.0
    return math.log(ratio) / math.log1p(-share) if 0 < share < 1 else math.inf


@dataclass(frozen=True)
class Bound:
    """Bound of the form value(t) <= exp(-rate t) value(0)."""

    rate: float

    @classmethod
    def of_contraction(cls, contraction: float) -> "Bound":
        """Return the bound (1 - contraction)^t. The contraction must lie between 0 and 1."""
        if not 0 < contraction < 1:
            raise ValueError(f"no bound: the contraction {contraction:g} is not between 0 and 1")
        return cls(-math.log1p(-contraction))

    def at(self, time: ArrayLike, first: float) -> Floats:
        """Return the bound at the given times or iterations, starting from the value `first`."""
        return np.asarray(first * np.exp(-self.rate * np.asarray(time, dtype=float)))


# Measurements


def first_violation(values: Floats, bound: Floats, floor: float) -> int | None:
    """Return the index of the first value above its bound, or None.

    Values up to `floor` are rounding errors and never count as violations.
    """
    above = (values > bound * (1 + SLACK)) & (values > floor)
    return int(above.argmax()) if above.any() else None


def looseness(values: Floats, bound: Floats, floor: float) -> float:
    """Return the orders of magnitude between the last value above `floor` and its bound."""
    known = np.flatnonzero(values > floor)
    if len(known) == 0:
        return math.nan
    last = known[-1]
    with np.errstate(divide="ignore", invalid="ignore"):  # The bound may underflow.
        return float(np.log10(bound[last]) - np.log10(values[last]))


def measured_rate(time: Floats, values: Floats, floor: float) -> float:
    """Return r of values ~ exp(-r t) in the second half of the decades down to `floor`.

    The rate is the median of the slopes over half of that range, so it ignores a few outliers.
    """
    kept = values > floor
    time, logs = time[kept], np.log(values[kept])
    if len(logs) < 2:
        return math.nan
    late = np.flatnonzero(logs > 0.5 * (logs[0] + logs.min()))
    # Start at the last point of the first half. A run that makes no progress is used as a whole.
    start = late[-1] if len(late) and late[-1] < len(logs) - 1 else 0
    time, logs = time[start:], logs[start:]
    half = max(len(logs) // 2, 1)
    return float(-np.median((logs[half:] - logs[:-half]) / (time[half:] - time[:-half])))


def pl_constant(gap: Floats, grad_norm: Floats, floor: float) -> float:
    """Return the largest mu with which the PL inequality holds at all gaps above `floor`."""
    kept = gap > floor
    return float((grad_norm[kept] ** 2 / (2 * gap[kept])).min()) if kept.any() else math.nan


def fisher_inverse_floor(factor: Floats) -> float:
    """Return the smallest eigenvalue of the inverse Fisher matrix in (m, C), C lower triangular.

    The Fisher matrix of C has one diagonal block per column j. Let T be the part of C below and to
    the right of (j, j), and e the first unit vector. The inverse of block j is
    T (I - e e' / 2) T'. The inverse of the block of the mean is V, which is no smaller than the
    first of these inverses.
    """
    smallest = math.inf
    for j in range(len(factor)):
        block = factor[j:, j:].copy()
        block[:, 0] *= math.sqrt(0.5)
        smallest = min(smallest, float(np.linalg.svd(block, compute_uv=False)[-1]) ** 2)
    return smallest


# The Bures-Wasserstein geometry


def squared_wasserstein(mean: Floats, root: Floats, other_mean: Floats, other: Floats) -> float:
    """Return W2^2 between two Gaussians, each given by its mean and any square root of V.

    W2 is the distance between the closest square roots of both covariances, which are found by an
    orthogonal factor. Unlike the usual formula, a difference of traces, this is accurate for
    Gaussians that almost coincide.
    """
    u, _, wt = np.linalg.svd(other.T @ root)
    return float(((mean - other_mean) ** 2).sum() + ((root - other @ (u @ wt)) ** 2).sum())


def lambert_step(delta: float, smoothness: float) -> float:
    """Return the largest step of Lambert et al. (2022), Theorem 4, for curvatures up to M.

    The theorem assumes M = 1 and h <= delta^2 / 60. Measuring lengths in units of M^{-1/2} reduces
    all problems to this case.
    """
    return delta**2 / (60 * smoothness**3)


def bw_step(smoothness: float, lambda_min: float) -> float:
    """Return the largest step h of BW-GD with h L <= 1, L = M + 1 / ((1 - h M)^2 lambda_min).

    L bounds the second derivative of the objective along a step. The loss contributes M. The
    entropy contributes the rest, because V >= lambda_min I and a step shrinks a root of V at most
    by the factor 1 - h M.
    """
    # With x = h M this is (1 - x)^3 = x / (M lambda_min), which has one real root.
    roots = np.roots([1.0, -3.0, 3.0 + 1.0 / (smoothness * lambda_min), -1.0])
    return float(roots[np.abs(roots.imag).argmin()].real) / smoothness
