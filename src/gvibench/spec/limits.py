"""Limits that the plan and the analysis share."""

__all__ = ["IN_MEMORY_BYTES"]

IN_MEMORY_BYTES = 64_000_000
"""Size of all curves of a study up to which its analysis uses NumPy arrays and not Dask."""
