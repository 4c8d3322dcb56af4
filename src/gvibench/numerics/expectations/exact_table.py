"""Load the table of `exact`: polynomial patches of one smooth function of two variables.

With r = sqrt(s2 + C^2), t = |mu| / r and q = C^2 / r^2, the function

    G(t, q) = F0(-|mu|, s2) / r

is smooth on the whole strip t >= 0, 0 <= q <= 1, from no variance (q = 1) to an infinite one
(q = 0), and below 1e-12 for t > T_END. On the left of zero F0 = r G, F1 = -dG/dt and
F2 = d^2G/dt^2 / r; the right follows from phi(x) = x + phi(-x).

The strip is cut into equal rectangles. On each, G is a polynomial in local variables that run
from -1 to 1. In t, it is the interpolation polynomial of d^2G/dt^2 integrated twice, with exact
values of G and dG/dt in the middle of the patch. This makes F2 as accurate as F0. The second
derivative of a fit of G would be less accurate.

`tests/numerics/expectations/build_exact_table.py` computes the file that the package ships.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DEGREE_Q",
    "DEGREE_T",
    "PATCHES_Q",
    "PATCHES_T",
    "TABLE_FILE",
    "T_END",
    "C",
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


def load_table() -> Array:
    """Return the shipped table, indexed by patch in t, patch in q, power of q and power of t."""
    table: Array = np.load(TABLE_FILE, allow_pickle=False)
    return table
