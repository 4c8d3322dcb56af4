"""The oracle of a logistic model by one call of compiled code."""

import ctypes
from abc import ABC, abstractmethod
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gvibench.numerics.expectations.base import Expectation, address
from gvibench.numerics.expectations.compiled.loader import load_blocked, load_fused

__all__ = ["FEW_FEATURES", "FusedOracle", "fused_oracle"]

FEW_FEATURES = 32
"""Beyond so many features the products of a BLAS are faster than our own."""
BLOCK_ROWS = 384
"""Rows of a block of many features: few enough for the L2 cache, and a number that BLAS likes."""

VALUE, HESSIAN, WHITENED = range(3)
"""What the kernel is asked for: the value alone, or gradient and curvature of one kind too."""

Array = NDArray[np.float64]

_ITEM = np.dtype(np.float64).itemsize


def fused_oracle(expectation: Expectation, x: Array, y: Array, beta: float) -> "FusedOracle":
    """Return the oracle of the rows x and their labels y.

    The prior is beta |theta|^2 / 2.
    """
    kind = FewFeatures if x.shape[1] <= FEW_FEATURES else ManyFeatures
    return kind(expectation, x, y, beta)


class FusedOracle(ABC):
    """Value, gradient and curvature of the loss phi(-y x'theta), summed over rows, with a prior.

    The root C of a covariance is a lower triangular matrix `triangle`, or the transpose of that.
    """

    supports_batching: ClassVar[bool]
    """Whether stacks of means and triangles give stacks of results."""

    def __init__(self, expectation: Expectation, x: Array, y: Array, beta: float) -> None:
        n, d = x.shape
        if y.shape != (n,):
            raise ValueError("expected a label of each row")
        x, y = _checked(x, (n, d)), _checked(y, (n,))
        table = expectation.table
        self._kept = table, x, y  # the kernel has no more than their addresses
        self._problem = address(table), len(table), n, d, address(x), address(y)
        self._d, self._beta = d, beta

    @abstractmethod
    def __call__(
        self, mean: Array, triangle: Array, transposed: bool, whitened: bool
    ) -> tuple[Any, Array, Array]:
        """Return value, without the prior, gradient g, and curvature H, or C'HC if `whitened`."""

    @abstractmethod
    def value(self, mean: Array, triangle: Array, transposed: bool) -> Any:
        """Return the value alone."""


class FewFeatures(FusedOracle):
    """With at most `FEW_FEATURES`: all arithmetic is in the kernel."""

    supports_batching = True

    def __init__(self, expectation: Expectation, x: Array, y: Array, beta: float) -> None:
        super().__init__(expectation, x, y, beta)
        if self._d > FEW_FEATURES:
            raise ValueError(f"expected at most {FEW_FEATURES} features")
        self._kernel = load_fused(expectation.kernel)

    def __call__(
        self, mean: Array, triangle: Array, transposed: bool, whitened: bool
    ) -> tuple[Any, Array, Array]:
        d, runs = self._d, mean.shape[:-1]
        mean, triangle = _checked(mean, (*runs, d)), _checked(triangle, (*runs, d, d))
        results = np.empty((*runs, d * d + d + 1))
        at_mean, at_triangle, at_results = map(address, (mean, triangle, results))
        for run in range(mean.size // d):
            self._kernel(
                *self._problem,
                self._beta,
                at_mean + run * d * _ITEM,
                at_triangle + run * d * d * _ITEM,
                transposed,
                whitened,
                at_results + run * results.shape[-1] * _ITEM,
            )
        curvature = results[..., : d * d].reshape(*runs, d, d)
        return results[..., -1], results[..., d * d : -1], curvature

    def value(self, mean: Array, triangle: Array, transposed: bool) -> Any:
        return self(mean, triangle, transposed, False)[0]


class ManyFeatures(FusedOracle):
    """With any number of features: the kernel calls a BLAS for products of blocks of rows."""

    supports_batching = False

    def __init__(self, expectation: Expectation, x: Array, y: Array, beta: float) -> None:
        super().__init__(expectation, x, y, beta)
        self._kernel = load_blocked(expectation.kernel)
        rows = max(1, min(BLOCK_ROWS, len(x)))
        self._room = np.empty((rows, self._d)), *np.empty((5, rows))
        self._tools = _routine("dtrmm"), _routine("dsyrk"), rows, *map(address, self._room)

    def __call__(
        self, mean: Array, triangle: Array, transposed: bool, whitened: bool
    ) -> tuple[Any, Array, Array]:
        curvature, gradient = np.zeros((self._d, self._d)), np.zeros(self._d)
        wanted = WHITENED if whitened else HESSIAN
        value = self._sum(mean, triangle, transposed, wanted, curvature, gradient)
        return value, gradient, curvature

    def value(self, mean: Array, triangle: Array, transposed: bool) -> Any:
        nothing = np.empty(0)
        return self._sum(mean, triangle, transposed, VALUE, nothing, nothing)

    def _sum(
        self,
        mean: Array,
        triangle: Array,
        transposed: bool,
        wanted: int,
        curvature: Array,
        gradient: Array,
    ) -> Any:
        mean, triangle = _checked(mean, (self._d,)), _checked(triangle, (self._d, self._d))
        value = np.empty(1)
        self._kernel(
            *self._problem,
            self._beta,
            address(mean),
            address(triangle),
            transposed,
            wanted,
            *self._tools,
            address(curvature),
            address(gradient),
            address(value),
        )
        return value[0]


def _checked(array: Array, shape: tuple[int, ...]) -> Array:
    # The kernel trusts its arguments; a wrong one would read anything.
    if array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"expected a float64 array of shape {shape}")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


@cache
def _routine(name: str) -> int:
    """Return the address of a routine of the BLAS that SciPy uses."""
    # As numba.extending.get_cython_function_address does, which would take Numba to be imported.
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__[name]
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(
        ("PyCapsule_GetName", ctypes.pythonapi)
    )
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    found: int = pointer_of(capsule, name_of(capsule))
    return found
