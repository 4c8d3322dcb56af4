"""Validate and convert the arguments of functions for notebooks."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np

from gvibench.errors import UserError, suggest

__all__ = ["plain", "validate_names"]


def validate_names(settings: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise UserError for a setting that is not among the known ones."""
    for name in settings:
        if name not in known:
            raise UserError(f"unknown setting '{name}'{suggest(name, sorted(known))}")


def plain(value: Any) -> Any:
    """Return a value with NumPy scalars and paths replaced by types that JSON has."""
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(inner) for inner in value)
    if isinstance(value, PathLike):
        return str(value)
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return value
