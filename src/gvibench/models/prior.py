"""Gaussian priors N(mu0, Lam^{-1}): their value, gradient and curvature.

All formulas with the prior are in this module. A model adds them to the sums over its rows.
"""

import math
from collections.abc import Sequence
from typing import Any, Protocol

from gvibench.errors import UserError, suggest
from gvibench.models.basis import basis_of
from gvibench.models.protocols import Curvature
from gvibench.numerics.base import Array, Backend
from gvibench.numerics.gaussian import Factor
from gvibench.spec.prior import PriorSettings
from gvibench.spec.run import ProblemSpec

__all__ = ["GaussianPrior", "IsotropicPrior", "Prior", "build_prior"]

MAX_LISTED = 20
"""Maximum number of features that a message lists."""


class Prior(Protocol):
    """Quadratic (theta - mu0)' Lam (theta - mu0) / 2 in the loss. Lam may be singular."""

    fused_beta: float
    """Precision that a compiled oracle adds itself. All other parts are added outside."""
    is_isotropic: bool
    """Whether mu0 = 0 and Lam is a multiple of the identity."""
    log_det: float
    """log det Lam: -infinity if the prior is flat in some direction."""
    largest: float
    """Largest eigenvalue of Lam."""

    def value(self, mean: Array) -> Array:
        """Return (m - mu0)' Lam (m - mu0) / 2, for one mean or for each row of a matrix."""

    def spread(self, factor: Factor) -> Array:
        """Return tr(Lam V) / 2."""

    def centred(self, mean: Array) -> Array:
        """Return m - mu0."""

    def times(self, matrix: Array) -> Array:
        """Return the product of Lam and a matrix or vector."""

    def gradient(self, mean: Array) -> Array:
        """Return Lam (m - mu0), for one mean or for each row of a matrix."""

    def curvature(self, factor: Factor, kind: Curvature) -> Array:
        """Return Lam, C' Lam C or Lam C, as `kind` requires."""


class IsotropicPrior:
    """Prior N(0, I / beta). A compiled oracle contains it.

    Parameters
    ----------
    backend
        Backend for all arrays.
    beta
        Precision.
    d
        Number of coordinates that the solver works with.
    multiplicity
        Number of coordinates that the last one represents.
    """

    is_isotropic = True

    def __init__(self, backend: Backend, beta: float, d: int, multiplicity: int = 1) -> None:
        self._backend = backend
        self._identity = backend.identity(d)
        self._extra = multiplicity - 1
        self.beta = self.fused_beta = self.largest = beta
        # beta = 0 is an improper prior, whose negative ELBO is +infinity.
        log_beta = math.log(beta) if beta > 0 else -math.inf
        self.log_det = (d + self._extra) * log_beta

    def value(self, mean: Array) -> Array:
        return 0.5 * self.beta * self._backend.row_norms(mean)

    def spread(self, factor: Factor) -> Array:
        trace = factor.variances_total()
        if self._extra:
            trace = trace + self._extra * factor.last_variance()
        return 0.5 * self.beta * trace

    def centred(self, mean: Array) -> Array:
        return mean

    def times(self, matrix: Array) -> Array:
        return self.beta * matrix

    def gradient(self, mean: Array) -> Array:
        return self.beta * mean

    def curvature(self, factor: Factor, kind: Curvature) -> Array:
        if kind == "factor":
            return self.beta * factor.root()
        return self.beta * (factor.inner() if kind == "whitened" else self._identity)


class GaussianPrior:
    """Prior N(mu0, Lam^{-1}) with any positive semi-definite Lam.

    Parameters
    ----------
    backend
        Backend for all arrays.
    mean
        mu0, on the host.
    precision
        Lam, on the host.
    """

    is_isotropic = False
    fused_beta = 0.0

    def __init__(self, backend: Backend, mean: Array, precision: Array) -> None:
        import numpy as np  # imported here, because planning loads models without NumPy

        self._backend = backend
        self.mean = backend.asarray(mean)
        self.precision = backend.asarray(precision)
        eigenvalues = np.linalg.eigvalsh(precision)
        self.largest = float(eigenvalues[-1])
        # Rounding moves the zero eigenvalues of a singular matrix by this amount.
        is_flat = eigenvalues[0] <= len(mean) * np.finfo(float).eps * max(self.largest, 0.0)
        self.log_det = -math.inf if is_flat else float(np.log(eigenvalues).sum())

    def value(self, mean: Array) -> Array:
        centred = mean - self.mean
        return 0.5 * self._backend.xp.sum(centred * (centred @ self.precision), axis=-1)

    def spread(self, factor: Factor) -> Array:
        return 0.5 * factor.trace_with(self.precision)

    def centred(self, mean: Array) -> Array:
        return mean - self.mean

    def times(self, matrix: Array) -> Array:
        return self.precision @ matrix

    def gradient(self, mean: Array) -> Array:
        return (mean - self.mean) @ self.precision

    def curvature(self, factor: Factor, kind: Curvature) -> Array:
        if kind == "factor":
            return self.precision @ factor.root()
        return factor.congruence(self.precision) if kind == "whitened" else self.precision


def build_prior(
    spec: ProblemSpec, backend: Backend, names: Sequence[str], multiplicity: int = 1
) -> Prior:
    """Return the prior of a problem whose features have these names."""
    if spec.is_rotation_invariant:
        return IsotropicPrior(backend, spec.beta, len(names), multiplicity)
    import numpy as np  # imported here, because planning loads models without NumPy

    settings = spec.prior or PriorSettings()
    if settings.length not in {None, len(names)}:
        raise UserError(
            f"prior: 'mean' or 'precision' has {settings.length} numbers, but "
            f"'{spec.data.dataset}' has {len(names)} features, including the intercept"
        )
    mean = _by_feature(settings.mean, 0.0, names, spec)
    default = spec.beta if settings.precision is None else settings.precision
    precision = _by_feature(default, spec.beta, names, spec)
    matrix = np.diag(precision) if precision.ndim == 1 else precision
    basis = basis_of(spec, len(names))
    if basis is not None:
        mean, matrix = basis.mean(mean), basis.precision(matrix)
    return GaussianPrior(backend, mean, matrix)


def _by_feature(values: Any, default: float, names: Sequence[str], spec: ProblemSpec) -> Any:
    """Return an array from a number, a list, or a mapping from names of features."""
    import numpy as np

    if isinstance(values, list):
        return np.array(values)
    if not isinstance(values, dict):
        return np.full(len(names), values)
    array = np.full(len(names), default)
    for name, value in values.items():
        # The name of a nominal column stands for all its levels: "job" for "job=clerk".
        chosen = [k for k, known in enumerate(names) if name in {known, known.partition("=")[0]}]
        if not chosen:
            raise UserError(
                f"prior: '{spec.data.dataset}' has no feature '{name}'{suggest(name, names)}; "
                f"available: {_listed(names)}"
            )
        array[chosen] = value
    return array


def _listed(names: Sequence[str]) -> str:
    shown = names if len(names) <= MAX_LISTED else [*names[: MAX_LISTED - 1], "…", names[-1]]
    return ", ".join(shown)
