"""The oracle of a logistic model by one call of compiled code, for few features."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gvibench.expectations.base import Expectation, address
from gvibench.expectations.native import load_fused

__all__ = ["MAX_FEATURES", "FusedOracle"]

MAX_FEATURES = 64
"""Beyond so many features the blocked products of a BLAS are faster."""

_ITEM = np.dtype(np.float64).itemsize

Array = NDArray[np.float64]


class FusedOracle:
    """Value, gradient and curvature of the loss phi(-y x'theta), summed over rows, with a prior.

    Parameters
    ----------
    expectation
        Of phi.
    x, y
        The rows, of at most `MAX_FEATURES` numbers, and their labels.
    beta
        Of the prior beta |theta|^2 / 2, which the value leaves out.
    """

    def __init__(self, expectation: Expectation, x: Array, y: Array, beta: float) -> None:
        n, d = x.shape
        if d > MAX_FEATURES or y.shape != (n,):
            raise ValueError(f"expected at most {MAX_FEATURES} features, and a label of each row")
        x, y = _checked(x, (n, d)), _checked(y, (n,))
        self._kept = expectation.table, x, y  # the kernel has no more than their addresses
        self._kernel = load_fused(expectation.kernel)
        self._first = (
            address(expectation.table),
            len(expectation.table),
            n,
            d,
            address(x),
            address(y),
            beta,
        )
        self._d = d

    def __call__(
        self, mean: Array, triangle: Array, transposed: bool, whitened: bool
    ) -> tuple[Any, Array, Array]:
        """Return value, gradient g, and curvature H, or C'HC if `whitened`.

        The root C of the covariance is the lower triangular matrix `triangle`, or the
        transpose of that. Stacks of means and triangles give stacks of results.
        """
        d, runs = self._d, mean.shape[:-1]
        mean, triangle = _checked(mean, (*runs, d)), _checked(triangle, (*runs, d, d))
        results = np.empty((*runs, d * d + d + 1))
        at_mean, at_triangle, at_results = map(address, (mean, triangle, results))
        for run in range(mean.size // d):
            self._kernel(
                *self._first,
                at_mean + run * d * _ITEM,
                at_triangle + run * d * d * _ITEM,
                transposed,
                whitened,
                at_results + run * results.shape[-1] * _ITEM,
            )
        curvature = results[..., : d * d].reshape(*runs, d, d)
        return results[..., -1], results[..., d * d : -1], curvature


def _checked(array: Array, shape: tuple[int, ...]) -> Array:
    # The kernel trusts its arguments; a wrong one would read anything.
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"expected a float64 array of shape {shape}")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)
