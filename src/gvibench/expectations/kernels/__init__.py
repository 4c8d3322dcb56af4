"""The compiled kernels: modules that import Numba, needed only when a kernel is not yet cached.

Each expectation has one function `evaluate` with the arguments that `gvibench.expectations.native`
describes; `fused` makes a whole oracle of any of them.
"""
