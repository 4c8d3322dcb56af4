"""Logistic regression with the non-convex penalty sum_j m_j^2 / (1 + m_j^2) on the mean."""

from typing import ClassVar

from gvibench.models.logistic import LogisticModel
from gvibench.numerics import Array

__all__ = ["NonConvexModel"]


class NonConvexModel(LogisticModel):
    """The penalty adds to value and gradient; the Hessian stays as it is, as in the paper."""

    rotation_invariant: ClassVar[bool] = False

    def penalty(self, mean: Array) -> tuple[Array, Array]:
        square = mean * mean
        share = 1.0 / (1.0 + square)
        return self.backend.xp.sum(square * share, axis=-1), 2.0 * mean * share * share
