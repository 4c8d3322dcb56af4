"""Canonical JSON and hashes of specs."""

import hashlib
import json
from typing import Any

__all__ = ["canonical_json", "hash_text", "hash_values"]


def canonical_json(values: Any) -> str:
    """Return values as JSON with sorted keys, no spaces and floats as `repr` prints them."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_values(values: Any) -> str:
    """Return the hash of a spec given as a mapping, in which tuned fields may be null."""
    return hash_text(canonical_json(values))


def hash_text(text: str) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
