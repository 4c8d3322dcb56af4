"""Points at which the tests evaluate the expectations."""

import numpy as np
from hypothesis import strategies as st

INVALID = [
    (np.nan, 1.0),
    (np.inf, 1.0),
    (-np.inf, 1.0),
    (0.0, np.nan),
    (0.0, np.inf),
    (np.inf, np.inf),
    (np.nan, 0.0),
    (np.inf, 0.0),
    (0.0, -np.inf),
    (0.0, -1e-9),
    (5.0, -1e300),
]
"""Means and variances for which the expectations are NaN."""

HUGE = [(m, v) for m in (-1e300, -1e200, 0.0, 1e200, 1e308) for v in (1e-320, 1.0, 1e200, 1e308)]
"""Means and variances that a diverging run may produce."""


def means(limit=1e3):
    """Return a strategy for means of all sizes and both signs, including zero."""
    return st.one_of(st.floats(-limit, limit), st.floats(-30.0, 30.0))


def variances(smallest, largest):
    """Return a strategy for variances of all sizes."""
    return st.floats(np.log10(smallest), np.log10(largest)).map(lambda power: 10.0**power)


def grid(limit=1e3, smallest=1e-8, largest=1e6, size=20000):
    """Return many means and variances of all sizes. They are the same in each call."""
    rng = np.random.default_rng(7)
    mu = limit ** rng.uniform(-1, 1, size) * rng.choice([-1.0, 1.0], size)
    return mu, 10 ** rng.uniform(np.log10(smallest), np.log10(largest), size)
