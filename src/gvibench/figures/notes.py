"""Compose the notes that figures print below panel titles and above legends."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from gvibench.analysis.bands import CENTERS
from gvibench.analysis.configurations import Configuration, unique
from gvibench.spec.statuses import UNUSABLE

__all__ = [
    "best_note",
    "floor_note",
    "oscillation_note",
    "other_limits_note",
    "reference_name",
    "seeds_note",
    "shortened_note",
    "unusable_note",
]


def reference_name(dataset: xr.Dataset) -> str:
    """Return the name of the value from which objective gaps are measured."""
    known = np.isfinite(dataset["optimum_objective"].values)
    if dataset.attrs["gap"] != "optimum" or not known.any():
        return "best seen"
    return "optimum" if known.all() else "optimum or best seen"


def best_note(configs: Sequence[Configuration], shown: Sequence[Configuration]) -> list[str]:
    """Return a note if lines show the best of several steps and initial scales."""
    if len(shown) < len(configs):
        return ["each solver at its best step and initial scale"]
    return []


def seeds_note(dataset: xr.Dataset, style: Mapping[str, Any]) -> list[str]:
    """Return a note on the meaning of lines and bands if there are several seeds."""
    count = len(unique(dataset["seed"].values.tolist()))
    return [f"{CENTERS[style['center']][0]} and min–max over {count} seeds"] if count > 1 else []


def other_limits_note(dataset: xr.Dataset, shown: Sequence[Configuration]) -> list[str]:
    """Return a note on the lines whose gaps do not vanish because they have another limit."""
    limits: dict[str, str] = dataset.attrs.get("other_limits", {})
    lines: dict[str, list[str]] = {}
    for config in shown:
        if config.solver_id in limits:
            lines.setdefault(limits[config.solver_id], []).append(config.line)
    parts = [f"{', '.join(unique(names))} ({limit})" for limit, names in lines.items()]
    return [f"other limit than the optimum: {'; '.join(parts)}"] if parts else []


def unusable_note(named: Iterable[tuple[str, Configuration]]) -> str:
    """Return the number of diverged and failed seeds of each line, empty if there are none."""
    named = list(named)
    parts = []
    for status in UNUSABLE:
        counts = [
            f"{name} {config.endings[status]}/{len(config.runs)}"
            for name, config in named
            if config.endings[status]
        ]
        if counts:
            parts.append(f"{status}: {', '.join(counts)}")
    return "; ".join(parts)


def floor_note(values: Iterable[float], floor: float) -> list[str]:
    """Return a note if some values that are drawn are at the floor."""
    if (np.asarray(values) <= floor).any():
        return [f"gaps below {floor:g} are drawn at {floor:g}"]
    return []


def oscillation_note(lines: Sequence[str]) -> list[str]:
    """Return a note on lines that show the range of an oscillation."""
    if not lines:
        return []
    return [f"{', '.join(lines)}: median and range of neighbouring iterations"]


def shortened_note(dataset: xr.Dataset, shown: Sequence[Configuration]) -> list[str]:
    """Return a note for the lines whose runs end before the longest run of the panel.

    Runs that have converged need no note.
    """
    done = np.asarray(dataset["iterations_done"].values)
    ends = {config: int(done[config.usable].max()) for config in shown if len(config.usable)}
    converged = {c for c in ends if c.endings["converged"] == len(c.usable)}
    lines: dict[str, list[str]] = {}
    for config, end in ends.items():
        longest = max(last for other, last in ends.items() if other.panel == config.panel)
        if end < longest and config not in converged:
            lines.setdefault(f"at {end} of {longest} iterations", []).append(config.line)
    notes = []
    for where, names in lines.items():
        names = unique(names)
        notes.append(f"{', '.join(names)} end{'s' if len(names) == 1 else ''} {where}")
    return notes
