"""Compile the kernels. These modules import Numba, so they are loaded only to fill the cache.

Each expectation has one function `evaluate`; `loader` describes its arguments. The modules
`oracle_few_features` and `oracle_many_features` build a whole oracle from any of them.
"""
