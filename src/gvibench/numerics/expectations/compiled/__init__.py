"""Compile the kernels of the expectations and of the oracles, and load them from the cache.

The run path imports `loader`, `object_code`, `oracle` and `constants`. All other modules import
Numba or llvmlite, so they are imported only to compile a kernel. Each expectation has a module with
a function `evaluate`, whose arguments `loader.load_expectation` describes. `oracle_few_features`
and `oracle_many_features` build an oracle from any of these functions.
"""
