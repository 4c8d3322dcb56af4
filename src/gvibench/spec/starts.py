"""Recognise the named start of a run from its settings."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["INSTANCE_FIELDS", "START_FIELDS", "start_name"]

START_FIELDS = ("mean_scale", "init_scale")
"""Fields of a spec that a named start sets."""
INSTANCE_FIELDS = ("basis_condition", *START_FIELDS)
"""Fields that distinguish instances of one problem: coordinates and start."""


def start_name(starts: Sequence[Mapping[str, Any]], spec: Mapping[str, Any]) -> str | None:
    """Return the name of the first start with the settings of a run, or None.

    Parameters
    ----------
    starts
        Name, mean scale and initial scale of each start. Two starts may coincide, so that their
        order matters.
    spec
        Spec of the run.
    """
    for start in starts:
        scale = start["init_scale"]
        if scale == "prior":  # N(0, I / beta)
            scale = spec["beta"] ** -0.5 if spec["beta"] > 0 else None
        if (start["mean_scale"], scale) == tuple(spec[field] for field in START_FIELDS):
            return str(start["name"])
    return None
