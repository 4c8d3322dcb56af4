"""Constants that the compiled oracles and their callers share."""

__all__ = ["FEW_FEATURES", "HESSIAN", "VALUE", "WHITENED"]

FEW_FEATURES = 32
"""Number of features up to which our own products are faster than those of a BLAS."""

VALUE, HESSIAN, WHITENED = range(3)
"""Results that an oracle can compute: the value alone, or also the gradient and the Hessian H or
the whitened curvature C'HC."""
