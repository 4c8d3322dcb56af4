"""Estimate the memory that preparing a data set needs."""

import math

__all__ = ["BASE_MB", "data_mb"]

BASE_MB = 250
"""Memory of a Python process with its libraries."""
COPIES = 3
"""Copies of the rows in memory while they are split and scaled."""


def data_mb(rows: int, columns: int) -> int:
    """Return the memory in MB for preparing rows with this number of features."""
    return BASE_MB + math.ceil(COPIES * 8 * rows * columns / 1e6)
