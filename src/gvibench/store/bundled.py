"""Locate the files of the package that hold data. Planning uses this module: no NumPy."""

from pathlib import Path

__all__ = ["bundled_path"]

FOLDER = Path(__file__).parents[1] / "datasets" / "data"


def bundled_path(name: str) -> Path:
    """Return the path of a file in the folder `datasets/data` of the package."""
    return FOLDER / name
