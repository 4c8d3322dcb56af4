"""The table behind `exact`: polynomial patches of one smooth function of two variables.

With r = sqrt(s2 + C^2), t = |mu| / r and q = C^2 / r^2, the function

    G(t, q) = F0(-|mu|, s2) / r

is smooth on the whole strip t >= 0, 0 <= q <= 1, from no variance (q = 1) to an infinite one
(q = 0), and below 1e-12 for t > T_END. On the left of zero F0 = r G, F1 = -dG/dt and
F2 = d^2G/dt^2 / r; the right follows from phi(x) = x + phi(-x).

The strip is cut into equal rectangles. On each, G is a polynomial in local variables that run
from -1 to 1. In t, it is the interpolation polynomial of d^2G/dt^2 integrated twice, with G and
dG/dt exact in the middle of the patch: F2 is then as accurate as F0, which differentiating a fit
of G would not give.

``python -m gvibench.numerics.expectations.exact_table`` writes the file that the package ships.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gvibench.numerics.expectations.reference import reference

__all__ = [
    "DEGREE_Q",
    "DEGREE_T",
    "PATCHES_Q",
    "PATCHES_T",
    "TABLE_FILE",
    "TABLE_SHA256",
    "T_END",
    "C",
    "build_table",
    "load_table",
]

Array = NDArray[np.float64]

C = 1.8
T_END = 16.0
PATCHES_T = 40
PATCHES_Q = 24
DEGREE_T = 11
DEGREE_Q = 6
TABLE_FILE = Path(__file__).with_name("exact_table.npy")
TABLE_SHA256 = "132e5138295b23c9e25884df5b67c1d18d1fa6c68d71b7997bcd130ef54c54d8"
"""Of the file: with it, another table is other code, and runs that used the old one run again."""


def load_table() -> Array:
    """Return the shipped table, indexed by patch in t, patch in q, power of q and power of t."""
    table: Array = np.load(TABLE_FILE, allow_pickle=False)
    return table


def build_table() -> Array:
    """Compute the table from `reference` (about two seconds)."""
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


def _derivatives(t: Array, q: Array) -> tuple[Array, Array, Array]:
    """Return G and its first two derivatives by t."""
    r = C / np.sqrt(q)
    f0, f1, f2 = reference(-t * r, C**2 * (1 - q) / q)
    return f0 / r, -f1, f2 * r


def _interpolation(degree: int) -> tuple[Array, Array]:
    """Return Chebyshev's nodes and the matrix from values there to coefficients of powers."""
    nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    return nodes, np.linalg.inv(np.vander(nodes, increasing=True))


if __name__ == "__main__":
    np.save(TABLE_FILE, build_table())
