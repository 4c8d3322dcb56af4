"""Recompute the objective of submitted Gaussians with exact expectations."""

import numpy as np
from numpy.typing import NDArray

from gvibench import numerics
from gvibench.errors import UserError
from gvibench.models.base import Model
from gvibench.models.prior import GaussianPrior
from gvibench.models.protocols import Rows
from gvibench.numerics.gaussian import CovarianceFactor
from gvibench.registry import MODELS
from gvibench.spec.run import DataSpec, RunSpec
from gvibench.store.problem_folders import Instance

__all__ = ["MAX_MISMATCH", "build_model", "recompute", "verify_objective"]

Floats = NDArray[np.float64]

MAX_MISMATCH = 1e-9
"""Maximum difference between a claimed and a recomputed objective, relative to max(1, |L|)."""


def build_model(instance: Instance) -> Model:
    """Return the model of an instance, with exact expectations and its Gaussian prior."""
    backend = numerics.select("cpu")
    spec = RunSpec(
        data=DataSpec(dataset=instance.name, split="none"),
        model=instance.model,
        expectation="exact",
        beta=1.0,  # not used: the prior is given as a matrix
        gamma=instance.gamma,
        solver="vn",
        step=1.0,
    )
    kind: type[Model] = MODELS.load(instance.model)
    loss = kind.build_loss(backend, spec)
    return kind(
        backend,
        loss,
        Rows(instance.rows, instance.y),
        Rows(instance.rows[:0], instance.y[:0]),
        beta=spec.beta,
        gamma=spec.gamma,
        prior=GaussianPrior(backend, np.zeros(instance.dimension), instance.precision),
        exact_loss=loss,
    )


def recompute(instance: Instance, mean: Floats, factor: Floats) -> Floats:
    """Return the objective at each Gaussian N(mean, C C').

    Parameters
    ----------
    instance
        Problem.
    mean
        Means with shape (records, d).
    factor
        Lower triangular C with shape (records, d, d).

    Returns
    -------
    Objective of each record. It is infinite where an expectation overflows.
    """
    model = build_model(instance)
    # The compiled kernels require contiguous arrays.
    means, factors = np.ascontiguousarray(mean, float), np.ascontiguousarray(factor, float)
    with np.errstate(over="ignore"):
        values = [
            float(model.exact_objective(m, CovarianceFactor(model.backend, C)))
            for m, C in zip(means, factors, strict=True)
        ]
    return np.array(values)


def verify_objective(instance: str, claimed: Floats, recomputed: Floats) -> None:
    """Raise UserError if a claimed objective is not the recomputed one. NaN claims nothing."""
    size = np.where(np.isinf(recomputed), 1.0, np.maximum(1.0, np.abs(recomputed)))
    with np.errstate(invalid="ignore"):
        difference = np.where(claimed == recomputed, 0.0, np.abs(claimed - recomputed))
        # The condition is negated, so that a recomputed NaN fails, too.
        wrong = ~(difference <= MAX_MISMATCH * size) & ~np.isnan(claimed)
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise UserError(
            f"{instance}: the objective of record {k} is {claimed[k]:.17g} in the trace but "
            f"{recomputed[k]:.17g} for its mean and covariance factor, which differ by more than "
            f"{MAX_MISMATCH:g}: write the objective of exactly these arrays, or NaN in the tracks "
            "B and C"
        )
