"""Logistic regression with the non-convex penalty sum_j m_j^2 / (1 + m_j^2) on the mean."""

from typing import ClassVar

from gvibench.models.logistic import LogisticModel
from gvibench.numerics.base import Array

__all__ = ["NonConvexModel"]


class NonConvexModel(LogisticModel):
    """Logistic regression with a penalty in value and gradient.

    As in the paper, the Hessian does not include the penalty.
    """

    convex: ClassVar[bool] = False
    rotation_invariant: ClassVar[bool] = False

    def penalty(self, mean: Array) -> tuple[Array, Array]:
        square = mean * mean
        share = 1.0 / (1.0 + square)
        return self.backend.xp.sum(square * share, axis=-1), 2.0 * mean * share * share

    def penalty_beyond_gradient(self, mean: Array, new_mean: Array) -> Array:
        before, slope = self.penalty(mean)
        after, _ = self.penalty(new_mean)
        return after - before - slope @ (new_mean - mean)
