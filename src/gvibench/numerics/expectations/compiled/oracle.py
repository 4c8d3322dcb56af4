"""Evaluate the oracle of a logistic model in one call of compiled code."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gvibench.numerics.blas import blas, routine_address
from gvibench.numerics.expectations.base import Expectation
from gvibench.numerics.expectations.compiled.constants import (
    FEW_FEATURES,
    HESSIAN,
    VALUE,
    WHITENED,
)
from gvibench.numerics.expectations.compiled.loader import (
    address,
    load_oracle_few_features,
    load_oracle_many_features,
)

__all__ = ["FusedOracle", "fused_oracle"]

BLOCK_ROWS = 384
"""Rows per block for many features: few enough for the L2 cache, and a size that suits a BLAS."""

Array = NDArray[np.float64]

_ITEM = np.dtype(np.float64).itemsize


def fused_oracle(expectation: Expectation, x: Array, y: Array, beta: float) -> "FusedOracle":
    """Return the oracle for the rows x, their labels y and the prior beta |theta|^2 / 2."""
    kind = FewFeatures if x.shape[1] <= FEW_FEATURES else ManyFeatures
    return kind(expectation, x, y, beta)


class FusedOracle(ABC):
    """Value, gradient and curvature of the loss phi(-y x'theta), summed over rows, with a prior.

    The root C of a covariance is the lower triangular matrix `triangle` or its transpose.
    """

    supports_batching: ClassVar[bool]
    """Whether stacks of means and triangles can be evaluated in one call."""

    def __init__(self, expectation: Expectation, x: Array, y: Array, beta: float) -> None:
        n, d = x.shape
        if y.shape != (n,):
            raise ValueError("expected one label per row")
        x, y = _checked(x, (n, d)), _checked(y, (n,))
        table = expectation.table
        self._arrays = table, x, y  # keeps them alive, because the kernel gets only addresses
        self._problem = address(table), len(table), n, d, address(x), address(y)
        self._d, self._beta = d, beta

    @abstractmethod
    def __call__(
        self, mean: Array, triangle: Array, transposed: bool, whitened: bool
    ) -> tuple[Any, Array, Array]:
        """Return the value without the prior, the gradient, and H, or C'HC if `whitened`."""

    @abstractmethod
    def value(self, mean: Array, triangle: Array, transposed: bool) -> Any:
        """Return the value alone."""


class FewFeatures(FusedOracle):
    """Oracle for at most `FEW_FEATURES` features, whose kernel does all arithmetic itself."""

    supports_batching = True

    def __init__(self, expectation: Expectation, x: Array, y: Array, beta: float) -> None:
        super().__init__(expectation, x, y, beta)
        if self._d > FEW_FEATURES:
            raise ValueError(f"expected at most {FEW_FEATURES} features")
        self._kernel = load_oracle_few_features(expectation.kernel)

    def __call__(
        self, mean: Array, triangle: Array, transposed: bool, whitened: bool
    ) -> tuple[Any, Array, Array]:
        d, wanted = self._d, WHITENED if whitened else HESSIAN
        results = self._compute(mean, triangle, transposed, wanted, d * d + d + 1)
        if results.ndim == 1:  # one run, whose value is then a number
            return results[-1], results[d * d : -1], results[: d * d].reshape(d, d)
        curvature = results[..., : d * d].reshape(*mean.shape[:-1], d, d)
        return results[..., -1], results[..., d * d : -1], curvature

    def value(self, mean: Array, triangle: Array, transposed: bool) -> Any:
        return self._compute(mean, triangle, transposed, VALUE, 1)[..., 0]

    def _compute(
        self, mean: Array, triangle: Array, transposed: bool, wanted: int, count: int
    ) -> Array:
        """Return the results of the kernel, `count` numbers for each run."""
        d, runs = self._d, mean.shape[:-1]
        mean, triangle = _checked(mean, (*runs, d)), _checked(triangle, (*runs, d, d))
        results = np.empty((*runs, count))
        at_mean, at_triangle, at_results = address(mean), address(triangle), address(results)
        for run in range(mean.size // d):
            self._kernel(
                *self._problem,
                self._beta,
                at_mean + run * d * _ITEM,
                at_triangle + run * d * d * _ITEM,
                transposed,
                wanted,
                at_results + run * count * _ITEM,
            )
        return results


class ManyFeatures(FusedOracle):
    """Oracle for any number of features, whose kernel calls a BLAS for products of blocks."""

    supports_batching = False

    def __init__(self, expectation: Expectation, x: Array, y: Array, beta: float) -> None:
        super().__init__(expectation, x, y, beta)
        self._kernel = load_oracle_many_features(expectation.kernel)
        rows = max(1, min(BLOCK_ROWS, len(x)))
        self._workspace = np.empty(rows * (self._d + 5))
        routines = map(routine_address, (blas().dtrmm, blas().dsyrk))
        self._tools = *routines, rows, address(self._workspace)

    def __call__(
        self, mean: Array, triangle: Array, transposed: bool, whitened: bool
    ) -> tuple[Any, Array, Array]:
        wanted = WHITENED if whitened else HESSIAN
        curvature, sums = np.zeros((self._d, self._d)), np.zeros(self._d + 1)
        self._compute(mean, triangle, transposed, wanted, curvature, sums)
        return sums[-1], sums[:-1], curvature

    def value(self, mean: Array, triangle: Array, transposed: bool) -> Any:
        sums = np.empty(self._d + 1)
        self._compute(mean, triangle, transposed, VALUE, np.empty(0), sums)
        return sums[-1]

    def _compute(
        self,
        mean: Array,
        triangle: Array,
        transposed: bool,
        wanted: int,
        curvature: Array,
        sums: Array,
    ) -> None:
        mean, triangle = _checked(mean, (self._d,)), _checked(triangle, (self._d, self._d))
        self._kernel(
            *self._problem,
            self._beta,
            address(mean),
            address(triangle),
            transposed,
            wanted,
            *self._tools,
            address(curvature),
            address(sums),
        )


def _checked(array: Array, shape: tuple[int, ...]) -> Array:
    # The kernel does not check its arguments: a wrong shape would read other memory.
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"expected a float64 array of shape {shape}")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)
