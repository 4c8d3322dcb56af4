"""Compute the table of the exact expectation.

    python tests/numerics/expectations/build_exact_table.py

writes the file that the package ships.
"""

import numpy as np

from gvibench.numerics.expectations.exact_table import (
    DEGREE_Q,
    DEGREE_T,
    PATCHES_Q,
    PATCHES_T,
    T_END,
    TABLE_FILE,
    C,
)
from gvibench.numerics.expectations.reference import reference


def build_table():
    """Return the table, computed from `reference` in about two seconds."""
    # Axes: patch in t, patch in q, node in q, node in t.
    half_t, half_q = T_END / PATCHES_T / 2, 1 / PATCHES_Q / 2
    centre_t = np.arange(1.0, 2 * PATCHES_T, 2)[:, None, None, None] * half_t
    centre_q = np.arange(1.0, 2 * PATCHES_Q, 2)[:, None, None] * half_q
    node_t, to_powers_t = _interpolation(DEGREE_T - 2)
    node_q, to_powers_q = _interpolation(DEGREE_Q)
    q = centre_q + half_q * node_q[:, None]
    value, slope, _ = _derivatives(centre_t, q)
    _, _, curvature = _derivatives(centre_t + half_t * node_t, q)

    inner = curvature @ to_powers_t.T * half_t**2
    powers = np.arange(DEGREE_T - 1)
    in_t = np.concatenate([value, slope * half_t, inner / ((powers + 1) * (powers + 2))], axis=-1)
    return np.ascontiguousarray(to_powers_q @ in_t)


def _derivatives(t, q):
    """Return G and its first two derivatives by t."""
    r = C / np.sqrt(q)
    f0, f1, f2 = reference(-t * r, C**2 * (1 - q) / q)
    return f0 / r, -f1, f2 * r


def _interpolation(degree):
    """Return the Chebyshev nodes, and the matrix from values at them to coefficients of powers."""
    nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    return nodes, np.linalg.inv(np.vander(nodes, increasing=True))


if __name__ == "__main__":
    np.save(TABLE_FILE, build_table())
