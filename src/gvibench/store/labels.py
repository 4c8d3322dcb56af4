"""Order and compare the labels of targets and the levels of nominal columns."""

import math
from collections.abc import Collection

from gvibench.store.delimited import is_number

__all__ = ["find_label", "sort_levels"]

WORDS = {"true": "1", "false": "0"}


def sort_levels(levels: Collection[str]) -> tuple[str, ...]:
    """Return levels in increasing order: as numbers if all are numbers, as text otherwise."""
    if all(is_number(level) and math.isfinite(float(level)) for level in levels):
        return tuple(sorted(levels, key=lambda level: (float(level), level)))
    return tuple(sorted(levels))


def find_label(wanted: str, labels: Collection[str]) -> str | None:
    """Return the label that a text means. Numbers are compared as numbers, and `true` is 1."""
    for word in (wanted.strip(), WORDS.get(wanted.strip().lower(), wanted)):
        for label in labels:
            both_numbers = is_number(label) and is_number(word)
            if label == word or (both_numbers and float(label) == float(word)):
                return label
    return None
