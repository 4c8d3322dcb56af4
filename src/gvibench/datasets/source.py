"""Define the common result of all loaders: raw rows and labels.

Splitting, mapping labels to ±1 and scaling follow later and are the same for all data sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    targets: str = "classes"
    """Kind of the targets y: two labels (`classes`), `real` numbers or `counts`."""
    feature_names: Sequence[str] = ()
    """Names of the columns (default: x1, x2, ...)."""
    encoding: Mapping[str, Any] = field(default_factory=dict)
    """Everything that was done to the columns of a file, ready for JSON."""
    own: bool = False
    """Whether the columns are the user's own, so that a constant one is reported as a mistake."""


def hashes_of(paths: list[Path]) -> dict[str, str]:
    """Return the SHA-256 of files, by file name."""
    return {path.name: sha256_of(path) for path in paths}
