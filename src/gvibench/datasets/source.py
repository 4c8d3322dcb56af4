"""Define the common result of all loaders: raw rows and labels.

Splitting, mapping labels to ±1 and scaling follow later and are the same for all data sets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gvibench.datasets.fetch import sha256_of
from gvibench.datasets.read import Table

__all__ = ["Source", "hashes_of"]


@dataclass(frozen=True)
class Source:
    """Raw rows and labels of a data set, as returned by a loader."""

    table: Table
    test: Table | None = None
    """Test rows of the data set's own test file, if it has one."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Meaning of `+1` and `-1` (default: the raw labels)."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the files that were read, by file name."""
    regression: bool = False
    """Whether y holds real numbers to predict instead of two labels."""


def hashes_of(paths: list[Path]) -> dict[str, str]:
    """Return the SHA-256 of files, by file name."""
    return {path.name: sha256_of(path) for path in paths}
