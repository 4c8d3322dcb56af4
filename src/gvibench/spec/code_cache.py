"""Keep what has been found in source files between processes, as Python keeps bytecode.

Parsing takes half a second per start of Snakemake, which a cluster starts twice for each job. The
cache is a file in the folder of the bytecode. It is keyed by content, so it cannot be out of date.
"""

import atexit
import contextlib
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["CodeCache"]

MAX_ENTRIES = 5000
"""Number of entries above which the cache starts again from nothing."""


class CodeCache:
    """Mapping from hashes to JSON values. New entries are written when the process ends.

    Parameters
    ----------
    path
        File of the cache, by default in the folder of the bytecode. A file that cannot be read or
        written is ignored.
    """

    def __init__(self, path: Path | None = None) -> None:
        beside = Path(importlib.util.cache_from_source(__file__))
        self._path = path or beside.with_name("code_cache.json")
        self._entries: dict[str, Any] | None = None
        self._is_changed = False

    def get(self, key: str) -> Any:
        """Return the value of a key, or None."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries.get(key)

    def put(self, key: str, value: Any) -> None:
        """Add an entry."""
        if not self._is_changed:
            atexit.register(self.save)
            self._is_changed = True
        self._entries = {} if self._entries is None else self._entries
        self._entries[key] = value

    def _read(self) -> dict[str, Any]:
        try:
            entries = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return entries if isinstance(entries, dict) and len(entries) <= MAX_ENTRIES else {}

    def save(self) -> None:
        """Write all entries, atomically, unless Python is told to write no bytecode."""
        if sys.dont_write_bytecode:
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, delete=False) as part:
                json.dump(self._entries, part)
            os.replace(part.name, self._path)  # noqa: PTH105
